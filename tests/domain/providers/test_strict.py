from __future__ import annotations

import json
from typing import Any

import pytest

from salvor_admin.domain import strict_json
from salvor_admin.domain.providers import strict
from salvor_admin.domain.providers.strict import StrictCost, StrictProblem, Subset
from tests.domain.agentplane_vectors import case_name, cases


def closed(properties: dict[str, Any], required: list[str] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": sorted(properties) if required is None else required,
        "properties": properties,
        **more,
    }


TEXT = {"type": "string"}


def schema_of(row: dict[str, Any]) -> Any:
    if "schema_text" in row:
        return strict_json.read(row["schema_text"].encode())
    assert row["name"] == "1001 enum values"
    return closed({"a": {"type": "string", "enum": [str(number) for number in range(1001)]}})


@pytest.mark.parametrize("row", cases("strict_schemas"), ids=case_name)
@pytest.mark.parametrize("subset", list(Subset))
def test_a_schema_is_strict_exactly_where_the_drivers_sent_it_so_and_every_problem_has_its_path(
    row: dict[str, Any], subset: Subset
) -> None:
    recorded = row[subset]
    found = strict.problems(schema_of(row), subset)
    assert {(each.path, each.code) for each in found} == {(each["path"], each["code"]) for each in recorded["problems"]}
    assert (not found) is recorded["strict"]


NULL = {"type": "null"}

# contract 4.4: schema, what openai's subset has against it, what anthropic's has (nothing: strict there)
CONTRACT_4_4 = [
    (closed({"id": TEXT}), set(), set()),
    (closed({}), set(), set()),
    ({"type": "object"}, {"open-object", "no-properties"}, {"open-object", "no-properties"}),
    ({"type": "object", "additionalProperties": False}, {"no-properties"}, {"no-properties"}),
    ({}, {"root-not-object"}, {"root-not-object"}),
    ({"anyOf": [closed({})]}, {"root-not-object"}, {"root-not-object"}),
    ({"type": "array", "items": TEXT}, {"root-not-object"}, {"root-not-object"}),
    ({**closed({}), "type": ["object", "null"]}, {"root-not-object"}, {"root-not-object"}),
    (closed({"a": TEXT}, []), {"optional"}, set()),
    (closed({"note": {"type": ["string", "null"]}}), set(), set()),
    (closed({"a": {"anyOf": [TEXT, NULL]}}), set(), set()),
    (closed({"n": {"type": "integer", "default": 3}}), set(), set()),
    (closed({"n": {"type": "integer", "minimum": 1}}), set(), {"keyword:minimum"}),
    (closed({"s": {"type": "string", "minLength": 1}}), set(), {"keyword:minLength"}),
    (closed({"a": {"oneOf": [TEXT]}}), {"keyword:oneOf"}, {"keyword:oneOf"}),
    (closed({"e": {"type": "string", "not": {}}}), {"keyword:not"}, {"keyword:not"}),
    (closed({"a": {"allOf": [{"type": "string"}]}}), {"keyword:allOf"}, set()),
    (closed({"e": {"enum": ["a"]}}), set(), set()),
    (closed({"e": {"const": 1}}), {"no-type"}, {"no-type"}),
    (closed({"a": {"$ref": "#/$defs/P", "description": "d"}}), {"ref-with-siblings"}, {"ref-with-siblings"}),
    (closed({"kids": {"type": "array", "items": {"$ref": "#"}}}), set(), {"recursive"}),
    (closed({"u": {"type": "string", "format": "uri"}}), {"format:uri"}, set()),
]


@pytest.mark.parametrize(("schema", "openai", "anthropic"), CONTRACT_4_4)
def test_a_sample_of_the_contract_is_strict_where_it_says_and_else_has_its_code(
    schema: Any, openai: set[str], anthropic: set[str]
) -> None:
    for subset, codes in ((Subset.OPENAI, openai), (Subset.ANTHROPIC, anthropic)):
        found = {problem.code for problem in strict.problems(schema, subset)}
        assert codes <= found
        assert bool(codes) is bool(found)


@pytest.mark.parametrize("name", ["title", "type", "$ref", "properties", "format", "$defs", "required", "enum"])
def test_a_property_named_like_a_keyword_is_a_property_for_every_walk(name: str) -> None:
    schema = closed({name: TEXT})
    assert strict.problems(schema, Subset.OPENAI) == strict.problems(schema, Subset.ANTHROPIC) == ()
    assert strict.cost(closed({name: {"type": ["string", "null"]}}, [])) == StrictCost(options=1, unions=1)


def test_a_free_form_map_is_refused_at_its_own_path_and_never_closed() -> None:
    schema = closed({"tool_input": {"type": "object"}})
    assert StrictProblem("schema.tool_input", "open-object") in strict.problems(schema, Subset.OPENAI)
    assert schema["properties"]["tool_input"] == {"type": "object"}


def test_a_circle_through_a_definition_is_found_only_where_the_definition_is_used() -> None:
    node = closed({"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}})
    unused = closed({"a": TEXT}, **{"$defs": {"Node": node}})
    used = closed({"a": {"$ref": "#/$defs/Node"}}, **{"$defs": {"Node": node}})
    assert strict.problems(unused, Subset.ANTHROPIC) == ()
    assert strict.problems(used, Subset.ANTHROPIC) == (StrictProblem("#/$defs/Node", "recursive"),)


def test_a_chain_of_ten_thousand_definitions_is_walked_without_a_stack_overflow() -> None:
    chain: dict[str, Any] = {f"D{at}": {"$ref": f"#/$defs/D{at + 1}"} for at in range(10_000)}
    chain["D10000"] = TEXT
    assert strict.problems(closed({"a": {"$ref": "#/$defs/D0"}}, **{"$defs": chain}), Subset.ANTHROPIC) == ()


def test_definitions_that_fan_out_are_each_followed_once() -> None:
    fan: dict[str, Any] = {
        f"D{at}": closed({"l": {"$ref": f"#/$defs/D{at + 1}"}, "r": {"$ref": f"#/$defs/D{at + 1}"}}) for at in range(60)
    }
    fan["D60"] = TEXT
    assert strict.problems(closed({"a": {"$ref": "#/$defs/D0"}}, **{"$defs": fan}), Subset.ANTHROPIC) == ()


@pytest.mark.parametrize(
    ("schema", "code"),
    [
        (closed({f"p{at}": TEXT for at in range(5001)}), "too-many-properties"),
        (closed({"p" * 60_001: TEXT, "q" * 60_000: TEXT}), "too-much-text"),
        (closed({"a": {"type": "string", "enum": [f"{at:060}" for at in range(251)]}}), "enum-too-long"),
    ],
)
def test_the_sizes_of_one_openai_schema_are_held(schema: Any, code: str) -> None:
    assert code in {problem.code for problem in strict.problems(schema, Subset.OPENAI)}
    assert code not in {problem.code for problem in strict.problems(schema, Subset.ANTHROPIC)}


def test_what_does_not_fit_the_budget_says_which_part_of_it_is_used_up() -> None:
    first, second = closed({f"p{at}": TEXT for at in range(20)}, []), closed({f"q{at}": TEXT for at in range(5)}, [])
    answers = strict.verdicts([first, second, closed({"a": TEXT})], Subset.ANTHROPIC, budget=strict.REQUEST_BUDGET)
    assert [answer.strict for answer in answers] == [True, False, True]
    assert answers[1].problems == (StrictProblem("schema", "over-budget:optional properties"),)


def test_every_problem_has_a_sentence() -> None:
    codes = {each["code"] for row in cases("strict_schemas") for subset in Subset for each in row[subset]["problems"]}
    assert codes
    for code in codes:
        assert StrictProblem("schema.a", code).sentence.startswith("schema.a: ")
    assert "additionalProperties" in StrictProblem("schema", "open-object").sentence


def test_judging_a_schema_leaves_it_as_it_was() -> None:
    for row in cases("strict_schemas"):
        schema = schema_of(row)
        before = json.dumps(schema)
        strict.problems(schema, Subset.OPENAI)
        strict.cost(schema)
        assert json.dumps(schema) == before
