from __future__ import annotations

from typing import Any

import pytest

from salvor_admin.domain.providers.turns import Continuation, Exchange, ModelCall
from salvor_admin.domain.refusals import Refusal
from tests.domain.agentplane_vectors import cases
from tests.domain.providers.recorded_offers import read, target

SENT = [
    pytest.param(row, name, recorded, id=f"{name}: {row['name']}"[:80])
    for row in cases("tool_results")
    for name, recorded in row["sent"].items()
]


def exchanges_of(row: dict[str, Any]) -> list[Exchange]:
    return [
        Exchange(
            ModelCall(each["id"], each["name"], read(each["arguments_text"])), read(each["output_text"]), each["failed"]
        )
        for each in row["exchanges"]
    ]


@pytest.mark.parametrize(("row", "name", "recorded"), SENT)
def test_results_go_back_as_the_driver_sent_them(row: dict[str, Any], name: str, recorded: dict[str, Any]) -> None:
    provider = target(name)
    kept = row.get("continuation")
    continuation = Continuation(kept["provider"], read(kept["state_text"])) if kept else None

    def render() -> Any:
        return provider.render_conversation(
            read(row["prompt_text"]),
            exchanges_of(row),
            continuation=continuation,
            person_turns=row.get("person_turns", []),
        )

    if recorded.get("refused_before_sending"):
        with pytest.raises(Refusal) as refusal:
            render()
        for fragment in recorded["must_contain"]:
            assert fragment in refusal.value.message
        return
    assert provider.conversation_member == recorded["member"]
    assert provider.spell(render()) == recorded["member_text"]


@pytest.mark.parametrize("name", ["anthropic", "openai_responses", "openai_chat", "bedrock", "gemini"])
def test_a_continuation_of_another_driver_is_refused_before_sending(name: str) -> None:
    with pytest.raises(Refusal) as refusal:
        target(name).render_conversation("hi", continuation=Continuation("other", []), person_turns=["go on"])
    assert refusal.value.code == "continuation_unusable"
