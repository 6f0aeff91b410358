"""What rendering keeps, whatever the schema; what reading gives back, whatever the call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from salvor_admin.domain import canonical, declarations, strict_json
from salvor_admin.domain.declarations import ToolDeclaration
from salvor_admin.domain.providers import PROVIDERS, checks
from salvor_admin.domain.providers.provider import Provider
from salvor_admin.domain.providers.turns import Exchange
from salvor_admin.domain.tool_ids import ToolId

LITERALS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    ["title", "type", "$ref", "properties", "format", "required", "enum", "a/b", "a~b", ""]
) | st.text(max_size=6)
LEAVES = st.one_of(
    st.booleans(),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer", "array", "object"])}, optional={"default": LITERALS}
    ),
    st.fixed_dictionaries({"enum": st.lists(LITERALS, max_size=3)}),
    st.fixed_dictionaries({"const": LITERALS}),
    st.fixed_dictionaries({"$ref": st.sampled_from(["#", "#/$defs/a", "#/properties/type", "https://example.com/x"])}),
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda properties, required, more: {
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if required],
            **more,
        },
        st.dictionaries(NAMES, inner, max_size=4),
        st.booleans(),
        st.fixed_dictionaries(
            {},
            optional={
                "additionalProperties": st.booleans(),
                "anyOf": st.lists(inner, max_size=2),
                "items": inner,
                "$defs": st.dictionaries(NAMES, inner, max_size=2),
            },
        ),
    )


SCHEMAS = objects(st.recursive(LEAVES, objects, max_leaves=8))


def rendered_schema(provider: Provider, offer: ToolDeclaration) -> Any:
    value = strict_json.read(provider.spell(provider.render_offer([offer]).value).encode())
    match provider.name:
        case "anthropic":
            return value[0]["input_schema"]
        case "openai-responses":
            return value[0]["parameters"]
        case "openai-chat":
            return value[0]["function"]["parameters"]
        case "bedrock":
            return value["tools"][0]["toolSpec"]["inputSchema"]["json"]
        case "gemini":
            return value[0]["functionDeclarations"][0]["parametersJsonSchema"]
    raise AssertionError(provider.name)


def kept(schema: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Property names, required lists and literals by place, found by a walk of our own that knows no keyword twice."""
    if not isinstance(schema, dict):
        yield place, canonical.rfc8785(schema)
        return
    for name, child in schema.get("properties", {}).items():
        yield f"{place}/properties", json.dumps(name)
        yield from kept(child, f"{place}/properties/{json.dumps(name)}")
    for keyword in ("required", "enum", "const", "default", "type", "$ref", "additionalProperties"):
        if keyword in schema:
            yield f"{place}/{keyword}", canonical.rfc8785(schema[keyword])
    for name, child in schema.get("$defs", {}).items():
        yield from kept(child, f"{place}/$defs/{json.dumps(name)}")
    for index, child in enumerate(schema.get("anyOf", [])):
        yield from kept(child, f"{place}/anyOf/{index}")
    if "items" in schema:
        yield from kept(schema["items"], f"{place}/items")


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(schema=SCHEMAS)
def test_rendering_keeps_every_property_name_required_list_and_literal(schema: Any) -> None:
    before, wanted = canonical.text(schema), sorted(kept(schema))
    for provider in PROVIDERS.values():
        sent = rendered_schema(provider, declarations.new("a", "d", schema))
        assert sorted(kept(sent)) == wanted
        assert canonical.rfc8785(sent) == canonical.rfc8785(schema)
        assert canonical.text(schema) == before


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(schema=SCHEMAS)
def test_the_check_of_any_schema_ends_and_places_every_finding_in_the_offer(schema: Any) -> None:
    for found in checks.check_declaration(list(PROVIDERS.values()), declarations.new("a", "d", schema)):
        assert found.finding.place.startswith("/parameters")
        assert len(found.finding.reason) < 400


def answer_with(provider: Provider, call_id: str, name: str, arguments: Any) -> str:
    """An answer of one call as the provider spells it."""
    text = canonical.text(arguments)
    body: Any
    match provider.name:
        case "anthropic":
            block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
            body = {"content": [block], "stop_reason": "tool_use"}
        case "openai-responses":
            item = {"type": "function_call", "call_id": call_id, "name": name, "arguments": text}
            body = {"status": "completed", "output": [item]}
        case "openai-chat":
            call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}
            body = {"choices": [{"message": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "stop"}]}
        case "bedrock":
            block = {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}}
            body = {"output": {"message": {"content": [block]}}, "stopReason": "tool_use"}
        case _:
            part = {"functionCall": {"id": call_id, "name": name, "args": arguments}}
            body = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}
    return canonical.text(body)


COMPONENTS = st.from_regex(r"[A-Za-z0-9.]+(_[A-Za-z0-9.]+)?", fullmatch=True)


@settings(max_examples=80, deadline=None)
@given(
    tool=st.builds(ToolId, COMPONENTS, COMPONENTS),
    arguments=st.dictionaries(NAMES, LITERALS, max_size=4),
    call_id=st.text(min_size=1, max_size=12),
)
def test_a_call_read_back_is_the_call_of_its_declaration(tool: ToolId, arguments: Any, call_id: str) -> None:
    offers = [declarations.offering(tool, "d", {}), declarations.new("another-name", "d", {})]
    for provider in PROVIDERS.values():
        turn = provider.read_answer(answer_with(provider, call_id, offers[0].name, arguments))
        (call,) = turn.calls
        assert declarations.answered_tool(call.name, offers) == tool
        assert (call.id, canonical.text(call.arguments)) == (call_id, canonical.text(arguments))
        # Sent back with its result, the kept turn and the rebuilt one lead to the same end.
        exchange = [Exchange(call, {"ok": True})]
        kept_turn = provider.render_conversation("hi", exchange, continuation=turn.continuation)
        rebuilt = provider.render_conversation("hi", exchange)
        assert len(kept_turn) == len(rebuilt)
        assert kept_turn[-1] == rebuilt[-1]
