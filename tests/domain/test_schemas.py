"""Values held to declared schemas, and schemas that are none."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salvor_admin.domain import schema_full, schemas
from salvor_admin.domain.schema_shapes import SchemaProblem

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_6 = "http://json-schema.org/draft-06/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"

# schema, a value that fits, one that does not, where, and the keyword that says so
ENFORCED: list[tuple[Any, Any, Any, str, str]] = [
    ({"type": "integer"}, 5, 5.0, "$", "type"),
    ({"properties": {"b": {"type": "string"}, "B": {"type": "string"}}}, {"b": "x"}, {"b": 1, "B": 1}, "$.B", "type"),
    ({"items": {"type": "string"}}, ["a"], ["a", 1], "$[1]", "type"),
    ({"enum": [1]}, 1, 1.0, "$", "enum"),
    ({"const": {"a": 1}}, {"a": 1.0}, {"a": 2}, "$", "const"),
    ({"multipleOf": 0.01}, 19.99, 19.999, "$", "multipleOf"),
    ({"minimum": 2**53 + 1}, 2**53 + 1, float(2**53), "$", "minimum"),
    ({"minLength": 3.0}, "abc", "ab", "$", "minLength"),
    ({"pattern": "^[a-z]+$"}, "abc", "abc\n", "$", "pattern"),
    ({"pattern": r"^\u00e9\p{L}$"}, "éé", "e", "$", "pattern"),
    ({"pattern": "^(a+)+$"}, "a" * 30, "a" * 30 + "!", "$", "pattern"),
    ({"format": "email"}, "a@b.c", "not-an-email", "$", "format"),
    ({"format": "date-time"}, "2026-01-02T03:04:05Z", "zzz", "$", "format"),
    ({"format": "iri"}, "http://é.example/ü", "no iri", "$", "format"),
    ({"format": "house-style"}, "anything", None, "", ""),
    ({"additionalProperties": False, "properties": {"a": {}}}, {"a": 1}, {"b": 1}, "$.b", "additionalProperties"),
    ({"additionalProperties": {"type": "string"}}, {"b": "x"}, {"b": 1}, "$.b", "type"),
    ({"patternProperties": {"^x": {"maximum": 1}}}, {"x1": 1, "y": 5}, {"x1": 2}, "$.x1", "maximum"),
    ({"propertyNames": {"maxLength": 1}}, {"a": 1}, {"abc": 1}, "$", "propertyNames"),
    ({"maxProperties": 0}, {}, {"a": 1}, "$", "maxProperties"),
    ({"dependentRequired": {"a": ["b"]}}, {"b": 1}, {"a": 1}, "$", "dependentRequired"),
    ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"b": 1}, {"a": 1}, "$", "required"),
    ({"prefixItems": [{"type": "string"}], "items": False}, [], ["a", 1], "$[1]", "items"),
    ({"contains": {"const": 1}, "minContains": 2}, [1, 1], [1, 2], "$", "contains"),
    ({"contains": {"const": 1}, "maxContains": 1}, [1, 2], [1, 1], "$", "maxContains"),
    ({"uniqueItems": True}, [1, 1.0, True], [{"a": 1, "b": 2}, {"b": 2, "a": 1}], "$", "uniqueItems"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, None, 5, "$", "anyOf"),
    ({"oneOf": [{"minimum": 1}, {"maximum": 5}]}, 9, 3, "$", "oneOf"),
    ({"not": {"type": "string"}}, 5, "a", "$", "not"),
    ({"if": {"type": "string"}, "then": {"maxLength": 1}, "else": {"type": "null"}}, "a", "abc", "$", "maxLength"),
    ({"if": {"type": "string"}, "else": {"type": "null"}}, None, 5, "$", "type"),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"maxLength": 1}}, "minLength": 1}, "a", "abc", "$", "maxLength"),
    (
        {"properties": {"child": {"$ref": "#"}, "n": {"type": "null"}}},
        {"child": {"n": None}},
        {"child": {"n": 1}},
        "$.child.n",
        "type",
    ),
    ({"$id": "urn:x:a", "$ref": "#inner", "$defs": {"i": {"$anchor": "inner", "type": "null"}}}, None, 1, "$", "type"),
    ({"$id": "http://a.example/s", "$ref": "t", "$defs": {"i": {"$id": "t", "type": "null"}}}, None, 1, "$", "type"),
    (
        {"unevaluatedProperties": False, "allOf": [{"properties": {"a": {}}}]},
        {"a": 1},
        {"b": 1},
        "$.b",
        "unevaluatedProperties",
    ),
    ({"unevaluatedItems": False, "prefixItems": [{}]}, [1], [1, 2], "$[1]", "unevaluatedItems"),
    ({"$schema": DRAFT_4, "minimum": 1, "exclusiveMinimum": True}, 2, 1, "$", "exclusiveMinimum"),
    (
        {"$schema": DRAFT_6, "items": [{"type": "null"}], "additionalItems": {"type": "string"}},
        [None, "a"],
        [None, 1],
        "$[1]",
        "type",
    ),
    (
        {"$schema": DRAFT_7, "dependencies": {"a": ["b"], "c": {"required": ["d"]}}},
        {"a": 1, "b": 1},
        {"c": 1},
        "$",
        "required",
    ),
    (
        {
            "$schema": DRAFT_7,
            "definitions": {"s": {"type": "string"}},
            "allOf": [{"$ref": "#/definitions/s", "maxLength": 0}],
        },
        "abc",
        5,
        "$",
        "type",
    ),
    ({"$schema": DRAFT_2019, "items": [True], "unevaluatedItems": False}, [1], [1, 2], "$[1]", "unevaluatedItems"),
    (False, None, 5, "$", "false"),
]


@pytest.mark.parametrize(("schema", "fits", "breaks", "path", "keyword"), ENFORCED)
def test_a_schema_is_enforced_in_full(schema: Any, fits: Any, breaks: Any, path: str, keyword: str) -> None:
    assert schemas.schema_problem(schema) is None
    if schema is not False:
        assert schemas.violation(schema, fits) is None
    if keyword:
        found = schemas.violation(schema, breaks)
        assert found is not None and not found.could_not_check
        assert (found.path, found.keyword) == (path, keyword)
        assert found.text == f"{path}: {found.reason}"


NO_SCHEMAS = [
    ("object", ""),
    (5, ""),
    ([], ""),
    ({"type": "money"}, "/type"),
    ({"type": ["string", "string"]}, "/type"),
    ({"type": []}, "/type"),
    ({"required": "a"}, "/required"),
    ({"required": [1]}, "/required"),
    ({"properties": {"a": {"minLength": -1}}}, "/properties/a/minLength"),
    ({"properties": {"type": "string"}}, "/properties/type"),
    ({"properties": {"a/b": {"items": [{}]}}}, "/properties/a~1b/items"),
    ({"allOf": []}, "/allOf"),
    ({"multipleOf": 0}, "/multipleOf"),
    ({"enum": "abc"}, "/enum"),
    ({"$defs": {"unused": {"pattern": "(?=a)"}}}, "/$defs/unused/pattern"),
    ({"patternProperties": {"[": {}}}, "/patternProperties/["),
    ({"$ref": "#/nowhere"}, "/$ref"),
    ({"$ref": "#nowhere"}, "/$ref"),
    ({"$ref": "#/title", "title": "a"}, "/$ref"),
    ({"not": {"$ref": "http://169.254.169.254/x"}}, "/not/$ref"),
    ({"$ref": "other.json"}, "/$ref"),
    ({"$dynamicRef": "#x"}, "/$dynamicRef"),
    ({"$schema": "https://example.com/house-dialect"}, "/$schema"),
    ({"$schema": 5}, "/$schema"),
    ({"properties": {"a": {"$schema": DRAFT_7}}}, "/properties/a/$schema"),
    ({"$schema": DRAFT_4, "exclusiveMinimum": 5, "minimum": 1}, "/exclusiveMinimum"),
    ({"$schema": DRAFT_4, "properties": {"a": True}}, "/properties/a"),
    ({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}}, "/$defs/a/$anchor"),
]


@pytest.mark.parametrize(("schema", "place"), NO_SCHEMAS)
def test_what_is_no_schema_is_told_with_its_place_and_lets_nothing_pass(schema: Any, place: str) -> None:
    problem = schemas.schema_problem(schema)
    assert problem is not None
    assert problem.place == place
    found = schemas.violation(schema, {})
    assert found is not None


def test_names_of_properties_are_not_taken_for_keywords() -> None:
    named = {name: {"type": "string"} for name in ("title", "type", "$ref", "properties", "format", "$id", "enum")}
    schema = {"properties": named, "required": list(named)}
    assert schemas.schema_problem(schema) is None
    assert schemas.violation(schema, dict.fromkeys(named, "x")) is None
    found = schemas.violation(schema, {**dict.fromkeys(named, "x"), "$ref": 1})
    assert found is not None and found.path == "$.$ref"


def nested(levels: int) -> Any:
    value: Any = None
    for _ in range(levels):
        value = {"child": value}
    return value


doubling = {
    "$defs": {f"s{i}": {"allOf": [{"$ref": f"#/$defs/s{i + 1}"}] * 2} for i in range(40)} | {"s40": {}},
    "$ref": "#/$defs/s0",
}
TOO_COSTLY = {
    "references that double at each step": (doubling, 1),
    "a reference to itself": ({"$ref": "#"}, 1),
    "a hundred thousand items to compare": ({"uniqueItems": True}, [[i, "x" * 20] for i in range(100_000)]),
    "many patterns for many names": (
        {"patternProperties": {f"^p{i}": {} for i in range(500)}},
        {f"k{i}": 1 for i in range(5000)},
    ),
    "a large pattern over a long text": ({"pattern": "x{0,1000}(a|b)*[ab]{900}y"}, "ab" * 300_000),
    "a long template": ({"format": "uri-template"}, "{" * 60_000),
}


@pytest.mark.parametrize(("schema", "value"), TOO_COSTLY.values(), ids=TOO_COSTLY.keys())
def test_over_budget_is_refused_as_not_checked(schema: Any, value: Any) -> None:
    assert schemas.schema_problem(schema) is None
    found = schemas.violation(schema, value)
    assert found is not None
    assert found.could_not_check
    assert "could not check" in found.reason


def test_the_deepest_values_are_checked() -> None:
    schema = {"properties": {"child": {"$ref": "#"}}, "additionalProperties": False}
    assert schemas.violation(schema, nested(124)) is None
    wrong = json.loads(json.dumps(nested(123)).replace("null", '{"other":1}'))
    found = schemas.violation(schema, wrong)
    assert found is not None and found.keyword == "additionalProperties"


def test_a_schema_nested_too_deep_is_none() -> None:
    schema: Any = True
    for _ in range(300):
        schema = {"items": schema}
    assert schemas.schema_problem(schema) is not None


def test_a_large_enum_is_not_echoed() -> None:
    found = schemas.violation({"enum": [str(i) for i in range(20_000)]}, "x" * 10_000)
    assert found is not None and len(found.text) < 200


def test_the_subset_alone_ignores_what_the_reference_ignores() -> None:
    schema = {"additionalProperties": False, "pattern": "a", "$ref": "#/nowhere", "not": {}}
    assert (
        schemas.subset_violation({key: schema[key] for key in ("additionalProperties", "pattern", "not")}, "b") is None
    )


# --- against another implementation --------------------------------------------------------------------------------

scalars = st.sampled_from([None, True, False, 0, 1, 2, 1.0, 1.5, -1, "", "a", "ab", "b"])
instances = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["a", "b", "c"])
COUNTS = st.integers(0, 3)


@st.composite
def keywords(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    maps = st.dictionaries(NAMES, inner, max_size=2)
    lists = st.lists(inner, min_size=1, max_size=2)
    made: dict[str, st.SearchStrategy[Any]] = {
        "type": st.sampled_from(["object", "array", "string", "number", "integer", ["null", "boolean"]]),
        "enum": st.lists(instances, max_size=3),
        "const": instances,
        "minimum": st.sampled_from([0, 1.0]),
        "exclusiveMaximum": st.sampled_from([1, 2.5]),
        "multipleOf": st.sampled_from([2, 0.5]),
        "minLength": COUNTS,
        "maxItems": COUNTS,
        "minProperties": COUNTS,
        "pattern": st.sampled_from(["^a", "b$"]),
        "required": st.lists(NAMES, unique=True, max_size=2),
        "properties": maps,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "[bc]"]), inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, unique=True, max_size=2), max_size=2),
        "dependentSchemas": maps,
        "prefixItems": lists,
        "items": inner,
        "contains": inner,
        "minContains": COUNTS,
        "maxContains": COUNTS,
        "allOf": lists,
        "anyOf": lists,
        "oneOf": lists,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "unevaluatedProperties": inner,
        "unevaluatedItems": inner,
    }
    chosen = draw(st.lists(st.sampled_from(sorted(made)), unique=True, max_size=5))
    return {keyword: draw(made[keyword]) for keyword in chosen}


some_schemas = st.recursive(st.booleans() | st.just({}) | st.just({"type": "string"}), keywords, max_leaves=5)


@settings(max_examples=120, deadline=None)
@given(some_schemas, instances)
def test_the_full_check_agrees_with_another_implementation(schema: Any, value: Any) -> None:
    verdict = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (schema_full.build(schema)(value) is None) == verdict


anything = st.sampled_from([None, True, 0, 1, -1, 1.5, 2.0, "", "a", "string", [], ["a"], ["a", "a"], [1], [{}], {}])
KEYWORDS = [
    "type", "enum", "const", "minimum", "exclusiveMinimum", "multipleOf", "minLength", "maxItems", "uniqueItems",
    "required", "properties", "patternProperties", "additionalProperties", "propertyNames", "dependentRequired",
    "dependentSchemas", "items", "contains", "minContains", "allOf", "oneOf", "not", "if", "$defs", "title",
    "description", "format", "readOnly", "examples", "$comment", "$anchor", "contentMediaType", "deprecated",
]  # fmt: skip
DIALECTS = {
    "": jsonschema.Draft202012Validator,
    DRAFT_2019: jsonschema.Draft201909Validator,
    DRAFT_7: jsonschema.Draft7Validator,
    DRAFT_6: jsonschema.Draft6Validator,
    DRAFT_4: jsonschema.Draft4Validator,
}


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(list(DIALECTS)), st.sampled_from(KEYWORDS), anything, st.booleans())
def test_what_is_a_schema_agrees_with_the_metaschema(dialect: str, keyword: str, value: Any, inside: bool) -> None:
    schema: dict[str, Any] = {keyword: value}
    if inside:
        schema = {"properties": {"p": schema}}
    if dialect:
        schema["$schema"] = dialect
    try:
        schema_full.build(schema)
        is_schema = True
    except SchemaProblem:
        is_schema = False
    try:
        DIALECTS[dialect].check_schema(schema)
        expected = True
    except jsonschema.SchemaError:
        expected = False
    assert is_schema == expected
