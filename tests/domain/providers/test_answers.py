from __future__ import annotations

from typing import Any

import pytest

from salvor_admin.domain import canonical
from salvor_admin.domain.providers import turns
from salvor_admin.domain.providers.provider import Provider
from salvor_admin.domain.providers.turns import AnswerUnread, Turn
from tests.domain.agentplane_vectors import case_name, cases
from tests.domain.providers.recorded_offers import target


def read_turn(provider: Provider, row: dict[str, Any]) -> Turn:
    if "events" in row:
        return provider.read_stream([(event["event"], event["payload_text"]) for event in row["events"]])
    if row["mode"] == "streamed":
        return provider.read_stream(turns.event_stream(row["body_text"]))
    return provider.read_answer(row["body_text"], status=row.get("status", 200))


@pytest.mark.parametrize("row", cases("tool_calls"), ids=case_name)
def test_an_answer_is_read_as_the_driver_read_it(row: dict[str, Any]) -> None:
    provider, outcome = target(row["target"]), row["outcome"]
    if "error" in outcome:
        with pytest.raises(AnswerUnread) as unread:
            read_turn(provider, row)
        error = unread.value
        assert error.fault == outcome["error"]
        assert {"input": error.billed.input, "output": error.billed.output} == outcome["billed"]
        assert error.account is outcome.get("account", False)
        assert "code" not in outcome or error.provider_code == outcome["code"]
        for fragment in outcome["must_contain"]:
            assert fragment in error.message
        return
    turn = read_turn(provider, row)
    read = {
        "calls": [
            {"id": call.id, "name": call.name, "arguments_text": canonical.rfc8785(call.arguments)}
            for call in turn.calls
        ],
        "text": turn.text,
        "truncated": turn.truncated,
        "stop_reason": turn.stop_reason,
        "continuation": {
            "provider": turn.continuation.provider,
            "state_text": canonical.rfc8785(turn.continuation.state),
        },
        "usage": {"input": turn.usage.input, "output": turn.usage.output},
    }
    if turn.reasoning:
        read["reasoning"] = turn.reasoning
    if turn.commentary:
        read["commentary"] = turn.commentary
    assert read == outcome
