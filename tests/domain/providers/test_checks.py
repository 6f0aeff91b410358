from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest

from salvor_admin.domain import declarations, tool_ids
from salvor_admin.domain.declarations import CacheTtl, ToolDeclaration
from salvor_admin.domain.findings.finding import Severity
from salvor_admin.domain.providers import PROVIDERS, checks
from salvor_admin.domain.providers.limits import ALL, ANTHROPIC, BEDROCK, CHAT, GEMINI, LIMITS, OPENAI, RESPONSES
from salvor_admin.domain.refusals import Refusal

TEXT = {"type": "string"}
CLOSED = {"type": "object", "additionalProperties": False, "required": ["q"], "properties": {"q": TEXT}}


def offer(name: str = "shop__find", description: str = "Find it.", parameters: Any = CLOSED) -> ToolDeclaration:
    return declarations.new(name, description, parameters)


def of_type_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def found(target: str, *offers: ToolDeclaration) -> set[tuple[str, str, str]]:
    return {
        (each.finding.code, str(each.finding.severity), each.finding.place)
        for each in checks.check_offer(PROVIDERS[target], offers)
    }


def blocking(target: str, *offers: ToolDeclaration) -> set[tuple[str, str]]:
    return {(code, place) for code, severity, place in found(target, *offers) if severity == "block"}


# --- the table -------------------------------------------------------------------------------------------------------


def test_every_row_of_the_table_has_a_rule_and_every_rule_a_row() -> None:
    assert {limit.code for limit in LIMITS} == set(checks.RULES) | set(checks.OFFER_RULES)
    assert not set(checks.RULES) & set(checks.OFFER_RULES)


def test_every_row_is_dated_and_names_its_source() -> None:
    for limit in LIMITS:
        assert date(2025, 1, 1) <= date.fromisoformat(limit.seen)
        assert re.match(r"https://|the published |agentplane contract |a rule of this house", limit.source), limit
        assert set(limit.targets) <= set(PROVIDERS)


def test_a_target_has_at_most_one_row_of_a_code_and_severity() -> None:
    rows = [(target, limit.code, limit.severity) for limit in LIMITS for target in limit.targets]
    assert len(rows) == len(set(rows))


@pytest.mark.parametrize("target", ALL)
def test_a_plain_offer_has_no_finding_anywhere(target: str) -> None:
    assert found(target, offer()) == set()


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("a b", set(ALL)),
        ("a.b", set(ALL) - {GEMINI}),
        ("find ", set(ALL)),
        ("../../admin", set(ALL)),
        ("naïve", set(ALL)),
        ("line\n", set(ALL)),
        ("__proto__", set()),
        ("a" * 64, set()),
        ("a-b_C9", set()),
    ],
)
def test_a_name_outside_a_targets_alphabet_is_blocked_there(name: str, targets: set[str]) -> None:
    assert {target for target in ALL if ("name_characters", "/0/name") in blocking(target, offer(name))} == targets


@pytest.mark.parametrize(("length", "targets"), [(64, set()), (65, set(ALL)), (128, set(ALL)), (129, set(ALL))])
def test_a_name_beyond_64_characters_is_blocked_everywhere(length: int, targets: set[str]) -> None:
    name = "n" * length
    assert {target for target in ALL if ("name_too_long", "/0/name") in blocking(target, offer(name))} == targets


@pytest.mark.parametrize("target", [ANTHROPIC, GEMINI])
def test_where_sources_disagree_the_lower_limit_holds_and_says_why(target: str) -> None:
    (finding,) = (each.finding for each in checks.check_offer(PROVIDERS[target], [offer("n" * 65)]))
    assert "65 characters" in finding.reason
    assert "128" in finding.reason
    assert "the lower one" in finding.reason


@pytest.mark.parametrize("target", ALL)
def test_an_empty_name_is_blocked(target: str) -> None:
    assert blocking(target, offer("")) == {("name_empty", "/0/name")}


def test_a_name_of_digits_is_blocked_on_gemini_and_a_warning_on_bedrock() -> None:
    digits = declarations.offering(tool_ids.parse("tool://9/9"), "Do it.", CLOSED)
    assert {target for target in ALL if blocking(target, digits)} == {GEMINI}
    assert ("name_first_character", "warn", "/0/name") in found(BEDROCK, digits)


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("name", ["agentplane_respond", "__agentplane_respond"])
def test_both_names_of_the_drivers_own_tool_are_blocked_everywhere(target: str, name: str) -> None:
    assert ("name_reserved", "/0/name") in blocking(target, offer(name))


@pytest.mark.parametrize("target", ALL)
def test_one_name_offered_twice_is_blocked_at_both_places(target: str) -> None:
    twice = [offer(), offer("other"), offer(parameters=of_type_object())]
    assert blocking(target, *twice) >= {("name_offered_twice", "/0/name"), ("name_offered_twice", "/2/name")}


def test_the_proposed_alias_is_one_the_target_takes() -> None:
    long = declarations.offering(tool_ids.parse(f"tool://files/{'read_' * 20}x"), "Read.", CLOSED)
    (finding,) = (each.finding for each in checks.check_offer(PROVIDERS[GEMINI], [long]))
    alias = re.search(r"such as (\S+)\.$", finding.remedy)
    assert alias is not None
    assert all(blocking(target, long.named(alias[1])) == set() for target in ALL)


# --- descriptions, counts, marks -------------------------------------------------------------------------------------


def test_an_empty_description_is_blocked_on_bedrock_alone() -> None:
    assert {target for target in ALL if blocking(target, offer(description=""))} == {BEDROCK}


@pytest.mark.parametrize("length", [1025, 100_000])
def test_a_long_description_is_refused_with_its_length_and_never_cut(length: int) -> None:
    long = offer(description="d" * length)
    for target in OPENAI:
        with pytest.raises(Refusal) as refusal:
            checks.render_checked(PROVIDERS[target], [long])
        assert str(length) in refusal.value.message
        assert "1024" in refusal.value.message
    assert blocking(CHAT, offer(description="d" * 1024)) == set()
    assert PROVIDERS[CHAT].render_offer([long]).value[0]["function"]["description"] == "d" * length


@pytest.mark.parametrize(("target", "most"), [(RESPONSES, 128), (CHAT, 128), (GEMINI, 512)])
def test_more_tools_than_a_target_takes_are_refused_with_the_count(target: str, most: int) -> None:
    tools = [offer(f"tool_{at}") for at in range(most + 1)]
    assert blocking(target, *tools[:most]) == set()
    with pytest.raises(Refusal) as refusal:
        checks.render_checked(PROVIDERS[target], tools)
    assert (refusal.value.code, refusal.value.place) == ("offer_refused", "")
    assert str(most + 1) in refusal.value.message


def test_a_profile_of_158_tools_is_refused_for_openai_and_kept_in_order_elsewhere() -> None:
    tools = [offer(f"tool_{at}") for at in range(158)]
    assert {target for target in ALL if blocking(target, *tools)} == set(OPENAI)
    rendered = checks.render_checked(PROVIDERS[ANTHROPIC], tools).value
    assert [tool["name"] for tool in rendered] == [f"tool_{at}" for at in range(158)]


def marked(*ttls: CacheTtl) -> list[ToolDeclaration]:
    return [offer(f"tool_{at}").cache_breakpoint(ttl) for at, ttl in enumerate(ttls)]


FIVE, HOUR = CacheTtl.FIVE_MINUTES, CacheTtl.ONE_HOUR


@pytest.mark.parametrize("target", [ANTHROPIC, BEDROCK])
def test_four_cache_marks_pass_and_a_fifth_is_blocked_where_it_stands(target: str) -> None:
    assert blocking(target, *marked(HOUR, HOUR, FIVE, FIVE)) == set()
    assert blocking(target, *marked(HOUR, HOUR, HOUR, FIVE, FIVE)) == {("too_many_cache_marks", "/4/cache")}


@pytest.mark.parametrize("target", [ANTHROPIC, BEDROCK])
def test_a_longer_mark_after_a_shorter_one_is_blocked(target: str) -> None:
    assert blocking(target, *marked(FIVE, HOUR)) == {("cache_marks_out_of_order", "/1/cache")}


@pytest.mark.parametrize("target", [RESPONSES, CHAT, GEMINI])
def test_a_mark_that_is_not_sent_is_a_note(target: str) -> None:
    assert found(target, *marked(FIVE, HOUR)) == {
        ("cache_mark_dropped", "note", "/0/cache"),
        ("cache_mark_dropped", "note", "/1/cache"),
    }


# --- schemas ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize(
    "schema",
    [{}, TEXT, True, None, [], {"type": ["object", "null"]}, {"$schema": "http://json-schema.org/draft-07/schema#"}],
)
def test_a_root_that_is_no_object_is_blocked_for_that_tool_alone(target: str, schema: Any) -> None:
    places = {place for code, place in blocking(target, offer(), offer("bad", parameters=schema)) if "root" in code}
    assert places == {"/1/parameters"}


ROOT_UNION = {
    "type": "object",
    "properties": {"content": TEXT, "source_url": TEXT},
    "anyOf": [{"required": ["content"]}, {"required": ["source_url"]}],
}


def test_a_union_at_the_root_is_blocked_and_the_declaration_keeps_it() -> None:
    union = offer(parameters=ROOT_UNION)
    for target in (ANTHROPIC, BEDROCK, *OPENAI):
        assert ("schema_root_combined", "/0/parameters/anyOf") in blocking(target, union)
    assert blocking(GEMINI, union) == set()
    assert PROVIDERS[ANTHROPIC].render_offer([union]).value[0]["input_schema"] == ROOT_UNION


@pytest.mark.parametrize("keyword", ["enum", "const", "not"])
def test_openai_also_blocks_values_at_the_root(keyword: str) -> None:
    schema = {**of_type_object(), keyword: {"enum": [{}], "const": {}, "not": {}}[keyword]}
    assert ("schema_root_combined", f"/0/parameters/{keyword}") in blocking(CHAT, offer(parameters=schema))
    assert blocking(ANTHROPIC, offer(parameters=schema)) == set()


def test_a_root_without_properties_is_blocked_on_openai_alone() -> None:
    bare = offer(parameters={"type": "object"})
    assert {target for target in ALL if blocking(target, bare)} == set(OPENAI)


@pytest.mark.parametrize(
    "schema", [of_type_object(l={"type": "array"}), of_type_object(l={"anyOf": [{"type": ["array", "null"]}]})]
)
def test_an_array_without_items_is_blocked_on_openai_at_any_depth(schema: Any) -> None:
    codes = {code for code, _ in blocking(RESPONSES, offer(parameters=schema))}
    assert codes == {"array_without_items"}
    assert "array_without_items" in {
        code for code, severity, _ in found(GEMINI, offer(parameters=schema)) if severity == "warn"
    }


@pytest.mark.parametrize("name", ["Account Number", "konto_nummer_æ", "k" * 65])
def test_an_argument_name_is_blocked_at_the_top_and_let_pass_one_level_down(name: str) -> None:
    at_the_top, nested = of_type_object(**{name: TEXT}), of_type_object(a=of_type_object(**{name: TEXT}))
    assert {target for target in ALL if blocking(target, offer(parameters=at_the_top))} == {ANTHROPIC, BEDROCK}
    assert blocking(BEDROCK, offer(parameters=at_the_top)) == {("property_key", f"/0/parameters/properties/{name}")}
    assert {target for target in ALL if blocking(target, offer(parameters=nested))} == set()


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "integer", "maximum": 9007199254740991}, "maximum"),
        ({"type": "string", "maxLength": 2**31}, "maxLength"),
        ({"type": "integer", "minimum": -(2**31) - 1}, "minimum"),
        ({"type": "number", "exclusiveMaximum": 1e300}, "exclusiveMaximum"),
    ],
)
def test_an_integer_keyword_beyond_32_bits_is_blocked_on_bedrock_and_never_dropped(schema: Any, place: str) -> None:
    wide = offer(parameters=of_type_object(n=schema))
    assert blocking(BEDROCK, wide) == {("integer_out_of_range", f"/0/parameters/properties/n/{place}")}
    assert {target for target in ALL if blocking(target, wide)} == {BEDROCK}
    assert (
        PROVIDERS[BEDROCK].render_offer([wide]).value["tools"][0]["toolSpec"]["inputSchema"]["json"] == wide.parameters
    )


@pytest.mark.parametrize("bound", [2**31 - 1, -(2**31), 0.5, True])
def test_a_bound_within_32_bits_passes_on_bedrock(bound: Any) -> None:
    codes = {code for code, _ in blocking(BEDROCK, offer(parameters=of_type_object(n={"minimum": bound})))}
    assert "integer_out_of_range" not in codes


def test_a_list_of_items_and_a_word_that_is_no_type_are_no_schema_of_the_dialect_anthropic_wants() -> None:
    tuple_items = of_type_object(pair={"type": "array", "items": [TEXT, TEXT]})
    assert blocking(ANTHROPIC, offer(parameters=tuple_items)) == {
        ("schema_malformed", "/0/parameters/properties/pair/items")
    }
    wrong_type = of_type_object(pair={"type": "text"})
    assert ("schema_malformed", "/0/parameters/properties/pair/type") in blocking(CHAT, offer(parameters=wrong_type))
    assert blocking(GEMINI, offer(parameters=wrong_type)) == set()


def test_unions_and_boolean_schemas_are_warnings_on_gemini_and_rendered_as_they_are() -> None:
    schema = of_type_object(
        rows={"type": ["array", "null"], "items": {"type": ["object", "null"], "properties": {"value": True}}}
    )
    rows = offer(parameters=schema)
    assert found(GEMINI, rows) == {
        ("type_list", "warn", "/0/parameters/properties/rows/type"),
        ("type_list", "warn", "/0/parameters/properties/rows/items/type"),
        ("boolean_schema", "warn", "/0/parameters/properties/rows/items/properties/value"),
    }
    declared = checks.render_checked(PROVIDERS[GEMINI], [rows]).value[0]["functionDeclarations"][0]
    assert declared["parametersJsonSchema"] == schema


def test_a_circle_through_properties_ends_and_is_blocked_where_it_cannot_be_drawn() -> None:
    circle = of_type_object(
        nodes={
            "type": "array",
            "items": of_type_object(children={"type": "array", "items": {"$ref": "#/properties/nodes/items"}}),
        }
    )
    place = "/0/parameters/properties/nodes/items/properties/children/items"
    assert blocking(GEMINI, offer(parameters=circle)) == {("circular_reference", place)}
    # Not strict there, so the schema only stands in the prompt.
    assert blocking(ANTHROPIC, offer(parameters=circle)) == set()


def test_a_circle_that_the_strict_rule_does_not_follow_is_still_blocked_when_the_tool_would_go_out_strict() -> None:
    closed = {"type": "object", "additionalProperties": False, "required": ["next"]}
    circle = {
        **closed,
        "properties": {"next": {"anyOf": [{"$ref": "#/properties/next"}, {"type": "null"}]}},
    }
    for target in (ANTHROPIC, BEDROCK):
        assert ("circular_reference_strict", "/0/parameters/properties/next/anyOf/0") in blocking(
            target, offer(parameters=circle)
        )


@pytest.mark.parametrize(
    "reference", ["https://example.com/x.json", "http://169.254.169.254/x", "#/$defs/Gone", "#anchor", "other.json#/a"]
)
def test_a_reference_that_leads_out_or_nowhere_is_a_warning_and_nothing_is_fetched(reference: str) -> None:
    out = offer(parameters=of_type_object(a={"$ref": reference}))
    for target in ALL:
        assert ("reference_leads_nowhere", "warn", "/0/parameters/properties/a") in found(target, out)


@pytest.mark.parametrize(
    "reference", ["#", "#/$defs/P", "#/$defs/with%20space", "#here", "https://example.com/own", "#/$defs/a~1b"]
)
def test_a_reference_that_selects_something_here_is_no_finding(reference: str) -> None:
    defs = {"P": {**TEXT, "$anchor": "here"}, "with space": TEXT, "a/b": TEXT}
    schema = {**of_type_object(a={"$ref": reference}), "$defs": defs, "$id": "https://example.com/own"}
    assert "reference_leads_nowhere" not in {code for code, _, _ in found(CHAT, offer(parameters=schema))}


def test_members_beside_a_reference_are_blocked_on_gemini_but_for_two() -> None:
    def beside(**more: Any) -> ToolDeclaration:
        return offer(parameters={**of_type_object(a={"$ref": "#/$defs/P", **more}), "$defs": {"P": TEXT}})

    assert blocking(GEMINI, beside(description="d", default="x")) == set()
    assert blocking(GEMINI, beside(minLength=1)) == {("reference_with_siblings", "/0/parameters/properties/a")}


def test_the_sum_of_many_long_lists_is_a_warning_on_gemini() -> None:
    lists = {f"l{at}": {"type": "array", "items": TEXT, "maxItems": 100} for at in range(10)}
    assert ("max_items_sum", "warn", "/0/parameters") in found(GEMINI, offer(parameters=of_type_object(**lists)))
    del lists["l0"]
    assert found(GEMINI, offer(parameters=of_type_object(**lists))) == set()


def test_a_schema_of_300_kilobytes_passes_and_one_beyond_the_cap_is_refused_with_its_size() -> None:
    def listing(values: int) -> ToolDeclaration:
        return offer(parameters=of_type_object(code={"type": "string", "enum": [f"{at:012}" for at in range(values)]}))

    assert blocking(ANTHROPIC, listing(20_000)) == set()
    for target in ALL:
        with pytest.raises(Refusal) as refusal:
            checks.render_checked(PROVIDERS[target], [listing(40_000)])
        assert "524288" in refusal.value.message
        assert len(refusal.value.message) < 1000


@pytest.mark.parametrize("name", ["title", "type", "$ref", "properties", "format"])
def test_an_argument_named_like_a_keyword_is_no_keyword_for_any_rule(name: str) -> None:
    schema = {**of_type_object(**{name: TEXT}), "required": [name]}
    for target in ALL:
        codes = {code for code, severity, _ in found(target, offer(parameters=schema)) if severity != "note"}
        # The dollar sign is outside the alphabet that two targets hold argument names to, whatever it spells.
        assert codes == ({"property_key"} if name == "$ref" and target in (ANTHROPIC, BEDROCK) else set())


def test_a_schema_beyond_the_cap_is_not_looked_into_any_further() -> None:
    huge = offer(parameters={"enum": ["x" * 600_000], "anyOf": []})
    for target in ALL:
        assert {code for code, _, _ in found(target, huge)} == {"schema_too_large"}


# --- strictness ------------------------------------------------------------------------------------------------------


def test_why_a_tool_goes_out_not_strict_is_said_place_by_place() -> None:
    schema = {**of_type_object(url={"type": "string", "format": "uri"}, n={"type": "integer", "default": 5})}
    schema["required"] = ["url"]
    places = {place for code, _, place in found(RESPONSES, offer(parameters=schema)) if code == "not_strict"}
    assert places == {"/0/parameters", "/0/parameters/properties/url", "/0/parameters/properties/n"}
    rendered = checks.render_checked(PROVIDERS[RESPONSES], [offer(parameters=schema)]).value[0]
    assert (rendered["strict"], rendered["parameters"]) == (False, schema)


def test_a_free_form_map_keeps_its_tool_from_being_strict_at_the_pointer_of_the_property() -> None:
    schema = {**CLOSED, "required": ["tool_input"], "properties": {"tool_input": {"type": "object"}}}
    noted = {place for code, _, place in found(RESPONSES, offer(parameters=schema)) if code == "not_strict"}
    assert noted == {"/0/parameters/properties/tool_input"}


def test_a_tool_beyond_the_budget_says_so() -> None:
    tools = [offer(f"tool_{at}") for at in range(21)]
    (finding,) = (each.finding for each in checks.check_offer(PROVIDERS[ANTHROPIC], tools))
    assert (finding.code, finding.severity, finding.place) == ("not_strict", Severity.NOTE, "/20/parameters")
    assert "budget" in finding.reason


# --- the refusal -----------------------------------------------------------------------------------------------------


def test_a_refused_offer_carries_every_blocking_finding_with_its_source() -> None:
    with pytest.raises(Refusal) as refusal:
        checks.render_checked(PROVIDERS[BEDROCK], [offer("a b", description=""), offer("ok")])
    details = refusal.value.details
    assert details["target"] == BEDROCK
    assert {(each["code"], each["place"]) for each in details["findings"]} == {
        ("name_characters", "/0/name"),
        ("description_empty", "/0/description"),
    }
    assert all(each["source"] and each["seen"] and each["remedy"] for each in details["findings"])


def test_many_places_of_a_kind_are_counted_instead_of_listed() -> None:
    many = offer(parameters=of_type_object(**{f"no good {at}": TEXT for at in range(500)}))
    findings = [each.finding for each in checks.check_offer(PROVIDERS[BEDROCK], [many])]
    keys = [finding for finding in findings if finding.code == "property_key"]
    assert len(keys) == checks.MOST_OF_A_KIND + 1
    assert "480 more" in keys[-1].reason


def test_one_declaration_is_checked_against_every_target_at_once() -> None:
    findings = checks.check_declaration(list(PROVIDERS.values()), offer("a.b", description=""))
    assert {(each.target, each.finding.code, each.finding.place) for each in findings} == {
        (ANTHROPIC, "name_characters", "/name"),
        (RESPONSES, "name_characters", "/name"),
        (CHAT, "name_characters", "/name"),
        (BEDROCK, "name_characters", "/name"),
        (BEDROCK, "description_empty", "/description"),
    }
