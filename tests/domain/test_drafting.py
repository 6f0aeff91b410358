"""From listings to draft grants, and drift (contract 6.2 to 6.5)."""

from __future__ import annotations

import jsonschema
import pytest

from salvor_admin.domain import argument_schemas, canonical, closed_schemas, drafting, drift, grants, manifests
from salvor_admin.domain.drafting import Hints
from salvor_admin.domain.findings import listings
from salvor_admin.domain.refusals import Refusal
from tests.domain.agentplane_vectors import case_name, cases
from tests.domain.labelled_values import read
from tests.domain.left_out import LEFT_OUT

ROWS = [row for row in cases("drafting") if row["name"] not in LEFT_OUT["drafting"]]
SCHEMAS = cases("closed_schemas")


def pages_of(row):
    return [read(text) for text in row["tools_list_results_text"]]


def one_tool(schema, **members):
    return drafting.read_tool({"name": "lookup", "description": "d", "inputSchema": schema, **members}, "crm")


def manifest_with(grant_tree, *, kind=None):
    spec = {"tools": [grant_tree], "budgets": {}}
    if kind is not None:
        spec |= {"execution": {"kind": kind}, "model": {"provider": "anthropic", "model": "example-model-1"}}
    head = {"apiVersion": "agentplane.hupe1980.github.io/v1alpha1", "kind": "Agent"}
    return head | {"metadata": {"name": "a", "version": "1"}, "spec": spec}


def verdict(manifest):
    try:
        manifests.from_value(manifest)
    except Refusal:
        return "refuse"
    return "accept"


@pytest.mark.parametrize("row", [row for row in ROWS if row["listed"]], ids=case_name)
def test_a_listing_is_drafted_as_recorded(row):
    listed = drafting.read_listing(pages_of(row), row["server_alias"])
    assert len(listed) == len(row["tools"])
    for tool, expected in zip(listed, row["tools"], strict=True):
        assert tool.reference == expected["reference"]
        assert tool.hints == Hints(**expected["hints"])
        assert tool.listing_digest == expected["listing_digest"]
        assert canonical.rfc8785(drafting.draft(tool).tree()) == expected["grant_canonical_text"]


@pytest.mark.parametrize("row", [row for row in ROWS if row["listed"]], ids=case_name)
def test_a_manifest_with_a_draft_is_judged_as_recorded(row):
    for tool, expected in zip(drafting.read_listing(pages_of(row), row["server_alias"]), row["tools"], strict=True):
        tree = drafting.draft(tool).tree()
        assert verdict(manifest_with(tree)) == expected["coded_manifest"]
        assert verdict(manifest_with(tree, kind="tool-calling")) == expected["tool_calling_manifest"]
        read_only = {**tree, "mutates": False}
        assert verdict(manifest_with(read_only, kind="tool-calling")) == expected["tool_calling_manifest_if_read_only"]


@pytest.mark.parametrize("row", [row for row in ROWS if not row["listed"]], ids=case_name)
def test_one_unreadable_tool_or_page_loses_the_whole_listing(row):
    with pytest.raises(Refusal) as caught:
        drafting.read_listing(pages_of(row), row["server_alias"])
    assert caught.value.code == "listing_unreadable"


@pytest.mark.parametrize("row", [row for row in ROWS if row["listed"]], ids=case_name)
def test_a_name_that_no_reference_can_carry_is_reported_and_kept(row):
    for tool, expected in zip(drafting.read_listing(pages_of(row), row["server_alias"]), row["tools"], strict=True):
        if expected["reference_accepted"]:
            drafting.check_reference(tool)
        else:
            with pytest.raises(Refusal) as caught:
                drafting.check_reference(tool)
            assert caught.value.code == "tool_reference_invalid"


@pytest.mark.parametrize("row", SCHEMAS, ids=case_name)
def test_a_schema_is_narrowed_as_recorded_and_only_once(row):
    schema = read(row["schema_text"])
    narrowed = closed_schemas.narrow(schema)
    assert canonical.rfc8785(narrowed) == row["closed_canonical_text"]
    assert canonical.equal(schema, narrowed) is not row["changed"]
    assert canonical.equal(closed_schemas.narrow(narrowed), narrowed)
    assert canonical.text(schema) == canonical.text(read(row["schema_text"])), "the server's schema was changed"


@pytest.mark.parametrize("row", SCHEMAS, ids=case_name)
def test_a_schema_is_accepted_as_arguments_before_and_after_narrowing_as_recorded(row):
    schema = read(row["schema_text"])
    for when, arguments in (("before", schema), ("after", closed_schemas.narrow(schema))):
        tree = {"ref": "tool://a/b", "mutates": False, "description": "d", "arguments": arguments}
        assert verdict(manifest_with(tree, kind="tool-calling")) == row["tool_calling_manifest"][when]


# contract 5.5: schema, and where it is open (None: nowhere)
CONTRACT_5_5 = [
    ({"type": "object"}, ""),
    ({"type": "object", "additionalProperties": False}, None),
    ({"type": "object", "additionalProperties": True}, ""),
    ({"type": "object", "additionalProperties": {}}, ""),
    ({"type": ["object", "null"]}, ""),
    ({"properties": {}}, ""),
    ({"additionalProperties": {}}, ""),
    ({"required": ["a"]}, None),
    ({"patternProperties": {}}, ""),
    ({"$ref": "https://example.com/s.json"}, ""),
    ({"$ref": "#/$defs/P"}, None),
    ({"$ref": 5}, None),
    ({"type": "object", "additionalProperties": False, "properties": {"x": {"type": "object"}}}, ".x"),
    ({"patternProperties": {"^a": {"type": "object"}}}, ""),
    ({"$defs": {"P": {"type": "object"}}}, ".P"),
    ({"definitions": {"P": {"type": "object"}}}, ".P"),
    ({"items": {"type": "object"}}, "[]"),
    ({"items": [{}, {"type": "object"}]}, ".items[1]"),
    ({"prefixItems": [{"type": "object"}]}, ".prefixItems[0]"),
    ({"anyOf": [{}, {"type": "object"}]}, ".anyOf[1]"),
    ({"anyOf": {"type": "object"}}, ".anyOf"),
    ({"oneOf": [{"type": "object"}]}, ".oneOf[0]"),
    ({"allOf": [{"type": "object"}]}, ".allOf[0]"),
    ({"type": "array", "additionalProperties": {"type": "object"}}, ".additionalProperties"),
    ({"additionalItems": {"type": "object"}}, ".additionalItems"),
    ({"contains": {"type": "object"}}, ".contains"),
    ({"propertyNames": {"type": "object"}}, ".propertyNames"),
    ({"not": {"type": "object"}}, ".not"),
    ({"if": {"type": "object"}}, ".if"),
    ({"then": {"type": "object"}}, ".then"),
    ({"else": {"type": "object"}}, ".else"),
    ({"dependentSchemas": {"a": {"type": "object"}}}, None),
    ({"unevaluatedProperties": {"type": "object"}}, None),
    ({"unevaluatedItems": {"type": "object"}}, None),
    ({"default": {"type": "object"}}, None),
    ({"enum": [{"type": "object"}]}, None),
    ({"const": {"type": "object"}}, None),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, None),
]


@pytest.mark.parametrize(("schema", "where"), CONTRACT_5_5)
def test_a_schema_is_open_where_the_contract_says(schema, where):
    opening = closed_schemas.first_opening(schema, "arguments")
    assert (None if opening is None else opening.dotted) == (None if where is None else f"arguments{where}")


@pytest.mark.parametrize("row", cases("drift"), ids=case_name)
def test_drift_and_overclaim_are_reported_as_recorded(row):
    grant = grants.read_grant(read(row["grant_text"]))
    listed = drafting.read_tool(read(row["tool_text"]), row["server_alias"])
    assert [half.value for half in drift.drifted(grant, listed)] == row["drift"]
    assert drift.overclaims(grant, listed.hints) is row["overclaims"]
    assert listed.listing_digest == row["listing_digest"]


# --- ours: the draft that loses nothing --------------------------------------------------------------------------------


@pytest.mark.parametrize("row", SCHEMAS, ids=case_name)
def test_the_keeping_draft_narrows_only_once_too(row):
    kept = closed_schemas.narrow_keeping(read(row["schema_text"]))
    assert canonical.equal(closed_schemas.narrow_keeping(kept), kept)


def test_an_any_of_beside_a_reference_is_lost_by_the_draft_and_kept_by_ours():
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/P", "anyOf": [{"minLength": 2}, {"const": ""}]}},
        "$defs": {"P": {"type": "string"}},
    }
    listed = one_tool(schema)
    too_short = {"a": "x"}
    assert jsonschema.Draft202012Validator(drafting.draft(listed).arguments).is_valid(too_short)
    assert not jsonschema.Draft202012Validator(drafting.draft_kept(listed).arguments).is_valid(too_short)
    assert jsonschema.Draft202012Validator(drafting.draft_kept(listed).arguments).is_valid({"a": "xy"})
    assert drafting.loses_a_constraint(listed)
    assert "draft_loses_a_constraint" in [finding.code for finding in listings.find(listed)]


def test_a_branch_that_adds_properties_is_shut_out_by_the_draft_and_let_in_by_ours():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "anyOf": [{"properties": {"b": {"type": "string"}}, "required": ["b"]}],
    }
    listed = one_tool(schema)
    assert not jsonschema.Draft202012Validator(drafting.draft(listed).arguments).is_valid({"b": "x"})
    assert jsonschema.Draft202012Validator(drafting.draft_kept(listed).arguments).is_valid({"b": "x"})


def test_a_dialect_that_reads_the_schema_otherwise_is_kept_by_ours():
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"pair": {"type": "array", "items": [{"type": "string"}], "additionalItems": False}},
    }
    listed = one_tool(schema)
    assert "$schema" not in drafting.draft(listed).arguments
    assert drafting.draft_kept(listed).arguments["$schema"] == schema["$schema"]


def test_where_nothing_is_lost_both_drafts_are_one():
    listed = one_tool({"type": "object", "properties": {"q": {"type": "string"}}})
    assert drafting.draft(listed) == drafting.draft_kept(listed)


def codes(listed, beside=()):
    return {finding.code: finding.severity.value for finding in listings.find(listed, beside)}


def test_one_name_listed_twice_is_held_whole():
    first, second = one_tool({"type": "object"}), one_tool({"type": "object", "properties": {}})
    for tool in (first, second):
        assert codes(tool, [first, second])["tool_listed_twice"] == "block"


@pytest.mark.parametrize(
    ("schema", "code", "severity"),
    [
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "schema_says_nothing", "warn"),
        ({"type": "string"}, "schema_no_object", "block"),
        ({"type": "object", "$schema": "https://example.com/my-dialect"}, "schema_unusable", "block"),
        ({"type": "object", "properties": {"a": {"type": "banana"}}}, "schema_unusable", "block"),
        (
            {"type": "object", "anyOf": [{"required": ["content"]}], "oneOf": [{"required": ["source_url"]}]},
            "schema_not_narrowed",
            "note",
        ),
        ({"type": "object", "properties": {"tool_input": {"type": "object"}}}, "schema_still_open", "warn"),
    ],
)
def test_a_schema_that_needs_a_person_has_a_finding(schema, code, severity):
    assert codes(one_tool(schema))[code] == severity


def test_hidden_characters_missing_text_and_hints_are_pointed_out():
    closed = {"type": "object", "properties": {}}
    hidden = "".join(chr(0xE0000 + ord(sign)) for sign in "obey")
    assert codes(one_tool(closed, description=f"Find.{hidden}"))["hidden_characters"] == "warn"
    assert codes(one_tool(closed, description=None))["description_missing"] == "warn"
    assert codes(one_tool(closed, annotations={"readOnlyHint": True}))["hints_claim_safety"] == "note"
    assert codes(one_tool(closed)) == {}


def test_a_server_under_the_alias_of_other_agents_can_never_be_called():
    listed = drafting.read_tool({"name": "lookup", "description": "d", "inputSchema": {"type": "object"}}, "agent")
    assert codes(listed)["server_alias_reserved"] == "block"


def test_a_hint_that_is_missing_is_not_a_hint_that_is_false():
    assert one_tool({"type": "object"}).hints == Hints(None, None, None)
    assert one_tool({"type": "object"}, annotations={"readOnlyHint": False}).hints == Hints(False, None, None)


def test_arguments_named_like_keywords_survive_narrowing():
    names = ["title", "type", "$ref", "properties", "format", "oneOf", "not"]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
    drafted = drafting.draft(one_tool(schema)).arguments
    assert drafted == {**schema, "additionalProperties": False}


def test_a_schema_that_refers_into_itself_is_drafted_and_checks_arguments():
    schema = {
        "type": "object",
        "properties": {
            "nodes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"children": {"type": "array", "items": {"$ref": "#/properties/nodes/items"}}},
                },
            }
        },
    }
    drafted = drafting.draft(one_tool(schema))
    assert argument_schemas.violation(drafted.arguments, {"nodes": [{"children": [{"children": []}]}]}) is None
    told = argument_schemas.violation(drafted.arguments, {"nodes": [{"children": [{"children": 7}]}]})
    assert "7 is not of type" in told


def test_references_that_never_end_are_refused_and_not_followed_for_ever():
    endless = {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}
    assert "cannot be checked" in argument_schemas.violation(endless, {})


def test_a_huge_enum_is_not_echoed_into_what_is_told():
    schema = {"type": "object", "properties": {"v": {"enum": [f"value {n}" for n in range(20_000)]}}}
    told = argument_schemas.violation(schema, {"v": "x"})
    assert '"x" is not one of the values allowed' in told
    assert len(told) < 400


def test_a_fingerprint_changes_with_anything_the_server_says():
    listed = {"name": "lookup", "description": "d", "inputSchema": {"type": "object"}}
    told_apart = [
        listed,
        {**listed, "title": "Look up"},
        {**listed, "outputSchema": {"type": "object"}},
        {**listed, "annotations": {"openWorldHint": False}},
        {**listed, "inputSchema": {"type": "object", "properties": {"bcc": {"type": "string"}}}},
    ]
    assert len({drafting.fingerprint(each) for each in told_apart}) == len(told_apart)
    assert drafting.fingerprint(dict(reversed(listed.items()))) == drafting.fingerprint(listed)
