"""Trouble that others met with schemas and providers (area a), each replayed as it was met."""

from __future__ import annotations

import json
from typing import Any

import pytest

from salvor_admin.domain import argument_schemas, canonical, declarations, drafting, hidden_text
from salvor_admin.domain.declarations import ToolDeclaration
from salvor_admin.domain.findings import listings
from salvor_admin.domain.findings.finding import Severity
from salvor_admin.domain.providers import PROVIDERS, checks
from salvor_admin.domain.providers.aliases import stable_alias
from salvor_admin.domain.refusals import Refusal

TEXT = {"type": "string"}
ALL = list(PROVIDERS)


def offer(parameters: Any = None, name: str = "shop__find", description: str = "Find it.") -> ToolDeclaration:
    return declarations.new(
        name, description, {"type": "object", "properties": {}} if parameters is None else parameters
    )


def of_object(properties: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


def found(target: str, *offers: ToolDeclaration) -> set[tuple[str, str]]:
    return {(each.finding.code, each.finding.place) for each in checks.check_offer(PROVIDERS[target], offers)}


def blocked(target: str, *offers: ToolDeclaration) -> set[tuple[str, str]]:
    findings = checks.check_offer(PROVIDERS[target], offers)
    return {(each.finding.code, each.finding.place) for each in findings if each.finding.severity is Severity.BLOCK}


def sent_schema(target: str, parameters: Any) -> Any:
    """The schema as it goes out, wherever this provider carries it."""
    sent = json.loads(PROVIDERS[target].spell(PROVIDERS[target].render_offer([offer(parameters)]).value))
    tool = sent["tools"][0]["toolSpec"]["inputSchema"]["json"] if target == "bedrock" else sent[0]
    tool = tool["functionDeclarations"][0] if target == "gemini" else tool
    tool = tool["function"] if target == "openai-chat" else tool
    return tool if target == "bedrock" else tool[SCHEMA_MEMBER.get(target, "parameters")]


SCHEMA_MEMBER = {"anthropic": "input_schema", "gemini": "parametersJsonSchema"}


def listing(*tools: Any) -> list[list[str]]:
    read = [drafting.read_tool(each, "crm") for each in tools]
    return [[finding.code for finding in each] for each in listings.find_all(read)]


def listed(schema: Any, name: str = "lookup", **members: Any) -> dict[str, Any]:
    return {"name": name, "description": "d", "inputSchema": schema, **members}


def test_a_schema_that_cannot_be_strict_says_so_and_goes_out_whole() -> None:
    """Report 1: a format and an optional member with a default, strict on for OpenAI."""
    schema = of_object({"url": {"type": "string", "format": "uri"}, "n": {"type": "integer", "default": 5}})
    schema["required"] = ["url"]
    places = {place for code, place in found("openai-responses", offer(schema)) if code == "not_strict"}
    assert {"/0/parameters/properties/url", "/0/parameters/properties/n"} <= places
    rendered = PROVIDERS["openai-responses"].render_offer([offer(schema)]).value[0]
    assert (rendered["strict"], rendered["parameters"]) == (False, schema)


def test_a_free_form_map_is_never_closed_to_make_its_tool_strict() -> None:
    """Report 3: one member that takes any object."""
    schema = of_object({"tool_input": {"type": "object"}}, required=["tool_input"], additionalProperties=False)
    assert ("not_strict", "/0/parameters/properties/tool_input") in found("openai-responses", offer(schema))
    assert sent_schema("openai-responses", schema) == schema


def test_schemas_that_hold_only_a_dialect_are_drafted_with_a_finding_each() -> None:
    """Report 5: a whole listing of them."""
    only = {"$schema": "http://json-schema.org/draft-07/schema#"}
    codes = listing(listed(only, "one"), listed(only, "two"), listed(of_object({}), "three"))
    assert ["schema_says_nothing" in each for each in codes] == [True, True, False]


def test_a_union_at_the_root_is_held_for_anthropic_and_still_checks_arguments() -> None:
    """Report 7: a vendor's live server began to send it overnight."""
    schema = of_object({}, anyOf=[of_object({name: TEXT}, required=[name]) | {} for name in ("content", "source_url")])
    assert ("schema_root_combined", "/0/parameters/anyOf") in blocked("anthropic", offer(schema))
    assert sent_schema("anthropic", schema) == schema
    assert argument_schemas.violation(schema, {"content": "x"}) is None
    assert argument_schemas.violation(schema, {}) is not None


@pytest.mark.parametrize(
    ("schema", "too_much"),
    [({"type": "integer", "maximum": 2**53 - 1}, 2**53), ({"type": "string", "maxLength": 2**31}, None)],
)
def test_a_bound_beyond_32_bits_is_held_for_bedrock_and_not_dropped(schema: Any, too_much: Any) -> None:
    """Report 9."""
    whole = of_object({"v": schema})
    assert {code for code, _ in blocked("bedrock", offer(whole))} == {"integer_out_of_range"}
    assert sent_schema("bedrock", whole) == whole
    assert too_much is None or argument_schemas.violation(whole, {"v": too_much}) is not None


@pytest.mark.parametrize("name", ["Account Number", "konto_nummer_æ", "k" * 65])
def test_an_odd_argument_name_is_stored_and_held_only_where_it_was_refused(name: str) -> None:
    """Report 11: at the top level, not one level down."""
    at_the_top, below = of_object({name: TEXT}), of_object({"a": of_object({name: TEXT})})
    assert {target for target in ALL if blocked(target, offer(at_the_top))} == {"anthropic", "bedrock"}
    assert {target for target in ALL if blocked(target, offer(below))} == set()
    assert list(sent_schema("bedrock", at_the_top)["properties"]) == [name]


@pytest.mark.parametrize(("length", "is_held"), [(64, False), (65, True), (128, True)])
def test_where_sources_disagree_on_a_names_length_the_lower_limit_holds(length: int, is_held: bool) -> None:
    """Report 13."""
    for target in ALL:
        assert (("name_too_long", "/0/name") in blocked(target, offer(name="n" * length))) is is_held


@pytest.mark.parametrize("name", ["two words", "", "find ", "__proto__", "../../admin"])
def test_a_name_that_no_reference_carries_is_drafted_as_it_is_and_named(name: str) -> None:
    """Report 15."""
    read = drafting.read_tool(listed(of_object({}), name), "crm")
    assert drafting.draft(read).reference == f"tool://crm/{name}"
    with pytest.raises(Refusal) as refused:
        drafting.check_reference(read)
    assert (refused.value.code, refused.value.place) == ("tool_reference_invalid", "/name")


def test_long_names_that_begin_alike_get_aliases_that_differ_and_stay() -> None:
    """Report 17."""
    one, other = f"{'n' * 60}_read", f"{'n' * 60}_write"
    aliases = {stable_alias("files", one), stable_alias("files", other), stable_alias("other", one)}
    assert len(aliases) == 3
    assert stable_alias("files", one) in aliases
    assert all(len(alias) <= 64 for alias in aliases)


def test_one_name_listed_twice_holds_both() -> None:
    """Report 19: with different schemas; neither the first nor the last is taken."""
    codes = listing(listed(of_object({})), listed(of_object({"q": TEXT})), listed(of_object({}), "other"))
    assert ["tool_listed_twice" in each for each in codes] == [True, True, False]


@pytest.mark.parametrize("target", ALL)
def test_no_argument_loses_its_schema_on_the_way_out(target: str) -> None:
    """Report 21: a converter that kept only the keywords it knew left arguments that took anything."""
    schema = of_object(
        {
            "a": {"anyOf": [TEXT, {"type": "null"}]},
            "b": {"$ref": "#/$defs/B"},
            "c": {"oneOf": [{"const": 1}, {"const": 2}]},
            "d": {"x-vendor": True, "type": "array", "prefixItems": [TEXT], "items": False},
        },
        required=["a", "b", "c", "d"],
    )
    schema["$defs"] = {"B": {"type": "string", "pattern": "^b"}}
    assert canonical.text(sent_schema(target, schema)) == canonical.text(schema)


def test_a_reference_into_the_tree_itself_is_found_and_held_where_it_cannot_be_drawn() -> None:
    """Report 23."""
    children = {"type": "array", "items": {"$ref": "#/properties/nodes/items"}}
    schema = of_object({"nodes": {"type": "array", "items": of_object({"children": children})}})
    assert "circular_reference" in {code for code, _ in blocked("gemini", offer(schema))}
    assert argument_schemas.violation(schema, {"nodes": [{"children": [{"children": 7}]}]}) is not None
    assert listing(listed(schema)) == [[]]


def test_unions_and_boolean_schemas_reach_gemini_as_they_are_with_a_warning() -> None:
    """Report 25: what a .NET client sends."""
    rows = {"type": ["array", "null"], "items": {"type": ["object", "null"], "properties": {"value": True}}}
    schema = of_object({"rows": rows})
    assert {code for code, _ in found("gemini", offer(schema))} == {"type_list", "boolean_schema"}
    assert sent_schema("gemini", schema) == schema
    for nullable in ({"rows": None}, {"rows": [None, {"value": 1}]}):
        assert argument_schemas.violation(schema, nullable) is None


def test_arguments_are_checked_under_the_declared_dialect_and_an_unknown_one_is_an_error() -> None:
    """Report 27: draft-07 with lists of items, draft-04 with `id`, and a dialect nobody knows."""
    pair = of_object({"pair": {"type": "array", "items": [TEXT, {"type": "integer"}], "additionalItems": False}})
    draft_7 = {**pair, "$schema": "http://json-schema.org/draft-07/schema#"}
    assert argument_schemas.violation(draft_7, {"pair": ["a", 1]}) is None
    assert argument_schemas.violation(draft_7, {"pair": ["a", 1, 2]}) is not None
    draft_4 = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "id": "http://example.com/s",
        **of_object({"n": {"type": "number", "maximum": 5, "exclusiveMaximum": True}}),
    }
    assert argument_schemas.violation(draft_4, {"n": 5}) is not None
    unknown = {"$schema": "https://example.com/my-dialect", "type": "object"}
    assert "schema_unusable" in listing(listed(unknown))[0]
    assert "invalid" in (argument_schemas.violation(unknown, {}) or "")


@pytest.mark.parametrize("target", ALL)
def test_arguments_named_like_keywords_survive_every_walk(target: str) -> None:
    """Report 29."""
    names = ["title", "type", "$ref", "properties", "format"]
    schema = of_object(dict.fromkeys(names, TEXT), required=names, additionalProperties=False)
    assert sent_schema(target, schema) == schema
    assert drafting.draft(drafting.read_tool(listed(schema), "crm")).arguments == schema
    assert "reference_leads_nowhere" not in {code for code, _ in found(target, offer(schema))}


def test_a_schema_of_300_kilobytes_works_and_a_miss_is_told_in_a_line() -> None:
    """Report 31: thousands of allowed values; beyond the cap a refusal that says the size."""
    schema = of_object({"code": {"type": "string", "enum": [f"{at:012}" for at in range(20_000)]}})
    assert len(canonical.text(schema)) > 300_000
    told = argument_schemas.violation(schema, {"code": "x"})
    assert told is not None and len(told) < 400
    twice = of_object({"code": {"type": "string", "enum": [f"{at:012}" for at in range(40_000)]}})
    for target in ALL:
        assert blocked(target, offer(schema)) == set()
        with pytest.raises(Refusal) as refused:
            checks.render_checked(PROVIDERS[target], [offer(twice)])
        assert "524288" in refused.value.message


def test_the_sum_of_list_lengths_is_warned_of_for_gemini() -> None:
    """Report 33: ten lists of a hundred are refused there without a word."""
    lists = {f"l{at}": {"type": "array", "items": TEXT, "maxItems": 100} for at in range(10)}
    assert ("max_items_sum", "/0/parameters") in found("gemini", offer(of_object(lists)))
    assert {target for target in ALL if blocked(target, offer(of_object(lists)))} == set()


@pytest.mark.parametrize("length", [1_025, 100_000])
def test_a_long_description_is_refused_with_its_length_and_never_cut(length: int) -> None:
    """Report 35."""
    long = offer(description="d" * length)
    with pytest.raises(Refusal) as refused:
        checks.render_checked(PROVIDERS["openai-chat"], [long])
    assert str(length) in refused.value.message
    assert PROVIDERS["openai-chat"].render_offer([long]).value[0]["function"]["description"] == "d" * length


def test_158_tools_are_counted_per_target_and_keep_their_order() -> None:
    """Report 37."""
    tools = [offer(name=f"tool_{at}") for at in range(158)]
    with pytest.raises(Refusal) as refused:
        checks.render_checked(PROVIDERS["openai-chat"], tools)
    assert "158" in refused.value.message
    names = [tool["name"] for tool in checks.render_checked(PROVIDERS["anthropic"], tools).value]
    assert names == [f"tool_{at}" for at in range(158)]


TAGS = "".join(chr(0xE0000 + ord(sign)) for sign in "obey")


@pytest.mark.parametrize("hidden", [TAGS, "\u200b", "\u2060", "\u202e", "\ufeff", "\x1b[31m"])
def test_hidden_text_in_a_description_is_counted_and_kept(hidden: str) -> None:
    """Report 38: it is warned of, and the bytes stay as evidence."""
    tool = drafting.read_tool(listed(of_object({}), description=f"Find.{hidden}"), "crm")
    (finding,) = listings.find(tool)
    assert (finding.code, finding.severity) == ("hidden_characters", Severity.WARN)
    assert drafting.draft(tool).description == f"Find.{hidden}"


def test_only_registered_flags_may_be_made_of_tags() -> None:
    """Report 39: a black flag with a text of its own, and selectors used as a message."""
    wales = "\U0001f3f4" + "".join(chr(0xE0000 + ord(sign)) for sign in "gbwls") + "\U000e007f"
    message = "a" + "".join(chr(0xE0100 + at) for at in range(5))
    assert hidden_text.count_hidden(wales) == 0
    assert hidden_text.count_hidden("\U0001f3f4" + TAGS + "\U000e007f") == 5
    assert hidden_text.count_hidden(message) == 5


def test_one_bad_tool_of_forty_is_held_and_the_others_are_not() -> None:
    """Report 41: a root that is a text."""
    tools = [listed(of_object({}), f"t{at}") for at in range(39)] + [listed({"type": "string"}, "odd")]
    codes = listing(*tools)
    assert codes[:39] == [[]] * 39
    assert codes[39] == ["schema_no_object"]
    offers = [offer(tool["inputSchema"], tool["name"]) for tool in tools]
    for target in ALL:
        assert {place.split("/")[1] for _, place in blocked(target, *offers)} == {"39"}
