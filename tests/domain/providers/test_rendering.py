from __future__ import annotations

from typing import Any

import pytest

from salvor_admin.domain import declarations
from salvor_admin.domain.declarations import CacheTtl
from salvor_admin.domain.providers import PROVIDERS, provider_named
from salvor_admin.domain.providers.provider import OutputSchema
from salvor_admin.domain.refusals import Refusal
from tests.domain.agentplane_vectors import cases
from tests.domain.providers.recorded_offers import declared, output_of, read, target

RENDERED = [
    pytest.param(row, name, recorded, id=f"{name}: {row['name']}"[:80])
    for row in cases("rendering")
    for name, recorded in row["rendered"].items()
]


@pytest.mark.parametrize(("row", "name", "recorded"), RENDERED)
def test_an_offer_is_rendered_to_the_text_the_driver_sent(
    row: dict[str, Any], name: str, recorded: dict[str, Any]
) -> None:
    provider = target(name)
    offers = [declared(tool) for tool in row["tools"]]
    if recorded.get("refused_before_sending"):
        with pytest.raises(Refusal) as refusal:
            provider.render_offer(offers, output=output_of(row))
        for fragment in recorded["must_contain"]:
            assert fragment in refusal.value.message
        return
    rendered = provider.render_offer(offers, output=output_of(row))
    assert provider.offer_member == recorded["member"]
    if recorded["member_text"] is None:
        assert rendered.value is None
    else:
        assert provider.spell(rendered.value) == recorded["member_text"]
    choice_text = recorded.get("tool_choice_text") or recorded.get("toolConfig_text")
    if choice_text is None:
        assert rendered.choice is None
    else:
        assert f"{provider.choice_member}_text" in recorded
        assert provider.spell(rendered.choice) == choice_text


REQUESTS = {"anthropic": "anthropic", "bedrock": "bedrock", "openai": "openai-responses", "gemini": "gemini"}


@pytest.mark.parametrize("row", cases("strict_schemas_requests"), ids=lambda row: row["name"][:80])
def test_strict_is_written_per_tool_within_the_budget_of_the_request(row: dict[str, Any]) -> None:
    provider = PROVIDERS[REQUESTS[row["provider"]]]
    offers = [declarations.new(f"tool_{at}", "Do it.", read(text)) for at, text in enumerate(row["tool_schemas_text"])]
    output = OutputSchema(read(row["response_schema_text"])) if "response_schema_text" in row else None
    if not row["sent"]:
        with pytest.raises(Refusal) as refusal:
            provider.render_offer(offers, output=output)
        for fragment in row["must_contain"]:
            assert fragment in refusal.value.message
        return
    value = provider.render_offer(offers, output=output).value
    assert (value is not None) is row["tools_member"]
    assert strict_flags(provider.name, value) == row["strict"]


def strict_flags(name: str, value: Any) -> list[bool | None]:
    if value is None:
        return []
    if name == "bedrock":
        return [tool["toolSpec"].get("strict") for tool in value["tools"]]
    tools = value[0]["functionDeclarations"] if name == "gemini" else value
    return [tool.get("strict") for tool in tools]


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=list(PROVIDERS))
def test_the_tool_behind_an_offer_is_never_sent(provider: Any) -> None:
    plain = declared({"offering": "tool://tide/station.level", "description": "d", "parameters_text": "{}"})
    assert plain.tool is not None
    free = declarations.new(plain.name, plain.description, plain.parameters)
    assert provider.render_offer([plain]) == provider.render_offer([free])


def test_a_cache_mark_is_sent_to_anthropic_and_bedrock_alone() -> None:
    free = declarations.new("a__x", "d", {})
    marked = free.cache_breakpoint(CacheTtl.ONE_HOUR)
    differing = {name for name, each in PROVIDERS.items() if each.render_offer([free]) != each.render_offer([marked])}
    assert differing == {"anthropic", "bedrock"}


def test_an_unknown_provider_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(Refusal) as refusal:
        provider_named("palm")
    assert refusal.value.code == "unknown_provider"
    for name in ("anthropic", "openai-responses", "openai-chat", "bedrock", "gemini"):
        assert name in refusal.value.message
