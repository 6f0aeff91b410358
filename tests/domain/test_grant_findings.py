"""The traps P1 to P5 of contract 8, as findings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from salvor_admin.domain import labels, manifests, matching, tool_ids
from salvor_admin.domain.findings import grants as findings
from salvor_admin.domain.grants import ProtectedField, ToolGrant
from salvor_admin.domain.labels import Labelled, Sensitivity
from tests.domain.agentplane_vectors import cases

MODEL_SOURCE = "model:anthropic/example-model-1"


def agent(*references, egress="internal", kind="tool-calling"):
    security = {} if egress is None else {"max_sensitivity_egress": egress}
    spec = {"security": security, "execution": {"kind": kind}, "tools": list(references), "budgets": {}}
    spec["model"] = {"provider": "anthropic", "model": "example-model-1"}
    return manifests.agents.read_agent(
        {
            "apiVersion": "agentplane.hupe1980.github.io/v1alpha1",
            "kind": "Agent",
            "metadata": {"name": "desk", "version": "1"},
            "spec": spec,
        }
    )


def grant(*fields, ms="internal", **terms):
    ceiling = None if ms is None else Sensitivity(ms)
    return ToolGrant(
        "tool://loans/extend", max_sensitivity=ceiling, protected_fields=fields, description="Extend.", **terms
    )


def codes(granted, frame=None):
    frame = frame or agent("tool://loans/extend")
    return {finding.code: finding.severity.value for finding in findings.find_in_grant(granted, frame)}


def decided(granted, frame):
    """What the live rules say of a first call by the model."""
    arguments = Labelled({"id": "L1"}, matching.bundle_label(frame))
    return matching.decide_call(
        "loans__extend", arguments, granted=[granted], ceilings=matching.ceilings_of(frame)
    ).decision.value


TRUSTED = ProtectedField("/id", require_trusted=True)
LISTED = ProtectedField("/id", one_of=("L1",))
FROM_MODEL = ProtectedField("/id", allowed_sources=(MODEL_SOURCE,))
FROM_SEARCH = ProtectedField("/id", allowed_sources=("tool://catalogue/search",))


def test_p1_a_trusted_field_never_passes_unless_a_person_amends_the_call():
    assert codes(grant(TRUSTED))["trust_never_given"] == "block"
    assert decided(grant(TRUSTED), agent("tool://loans/extend")) == "refuse"
    assert codes(grant(TRUSTED, requires_approval=True))["trust_needs_amendment"] == "warn"


def test_p2_sources_have_to_name_the_model_and_what_enters_the_conversation():
    assert codes(grant(FROM_SEARCH))["model_not_a_source"] == "block"
    assert decided(grant(FROM_SEARCH), agent("tool://loans/extend")) == "refuse"
    both = agent("tool://loans/extend", "tool://catalogue/search")
    assert codes(grant(FROM_MODEL), both)["source_closes_after_results"] == "warn"
    assert decided(grant(FROM_MODEL), both) == "allow"
    every = replace(FROM_MODEL, allowed_sources=(MODEL_SOURCE, "tool://loans/extend", "tool://catalogue/search"))
    assert "source_closes_after_results" not in codes(grant(every), both)


def test_p3_a_menu_is_independent_of_history():
    assert codes(grant(LISTED)) == {}
    assert decided(grant(LISTED), agent("tool://loans/extend")) == "allow"


@pytest.mark.parametrize(("egress", "ms"), [("internal", None), ("internal", "public"), ("confidential", "internal")])
def test_p4_a_grant_below_what_the_model_writes_never_fires(egress, ms):
    frame = agent("tool://loans/extend", egress=egress)
    assert codes(grant(LISTED, ms=ms), frame)["grant_never_fires"] == "block"
    assert decided(grant(LISTED, ms=ms), frame) == "refuse"


def test_p4_an_agent_ceiling_of_public_refuses_every_call_and_none_fails_after_the_first_result():
    def of(frame):
        return {finding.code for finding in findings.find(manifests.assemble(frame, [grant(LISTED)]))}

    assert "egress_below_model" in of(agent("tool://loans/extend", egress="public"))
    assert "egress_ceiling_missing" in of(agent("tool://loans/extend", egress=None))
    assert of(agent("tool://loans/extend")) == set()


def test_p5_a_constant_a_developer_trusts_comes_from_nowhere_and_fails_a_list_of_sources():
    arguments = Labelled({"id": "L1"}, labels.TRUSTED_CONSTANT)
    decision = matching.decide_call("loans__extend", arguments, granted=[grant(FROM_MODEL)])
    assert (decision.decision, decision.reason, decision.source) == ("refuse", "field_source", None)


def test_a_field_ceiling_below_what_the_model_writes_never_passes():
    field = replace(LISTED, max_sensitivity=Sensitivity.PUBLIC)
    assert codes(grant(field))["field_never_passes"] == "block"
    assert decided(grant(field), agent("tool://loans/extend")) == "refuse"


def test_ceilings_alone_lift_the_gate():
    ceiling = ProtectedField("/id", max_sensitivity=Sensitivity.INTERNAL)
    assert codes(grant(ceiling))["gate_lifted_by_ceilings"] == "warn"
    assert decided(grant(ceiling), agent("tool://loans/extend")) == "allow"


def test_a_protected_field_that_the_schema_cannot_carry_refuses_every_call():
    schema = {"type": "object", "additionalProperties": False, "properties": {"note": {"type": "string"}}}
    assert codes(grant(LISTED, arguments=schema))["field_not_in_schema"] == "block"
    optional = {**schema, "properties": {"id": {"type": "string"}}}
    assert codes(grant(LISTED, arguments=optional))["field_optional"] == "note"


@pytest.mark.parametrize(
    ("member", "values", "is_found"),
    [
        ({"type": "string", "enum": ["L1", "L2"]}, ("L1",), False),
        ({"type": "string", "enum": ["L2"]}, ("L1",), True),
        ({"type": "integer"}, ("L1", 2.5), True),
        ({"type": "integer"}, ("L1", 2), False),
        ({"$ref": "#/$defs/P"}, ("L1",), False),
        (True, ("L1",), False),
    ],
)
def test_a_list_of_values_that_the_schema_never_admits_refuses_every_call(member, values, is_found):
    schema = {"type": "object", "additionalProperties": False, "required": ["id"], "properties": {"id": member}}
    schema["$defs"] = {"P": {"type": "integer"}}
    granted = grant(ProtectedField("/id", one_of=values), arguments=schema)
    assert (codes(granted) == {"menu_not_in_schema": "block"}) is is_found
    assert not is_found or decided(granted, agent("tool://loans/extend")) == "refuse"


def test_a_schema_that_checks_nothing_is_pointed_out():
    assert codes(grant(LISTED, arguments={"type": "banana"}))["arguments_no_schema"] == "block"
    assert codes(grant(LISTED, arguments=7))["arguments_no_schema"] == "block"


def test_declared_without_a_grant_and_granted_without_a_declaration():
    frame = agent("tool://loans/extend")
    found = findings.find_in_offers(frame, [grant(LISTED)], [tool_ids.parse("tool://loans/close")])
    assert [(each.code, each.severity.value) for each in found] == [
        ("declared_not_granted", "block"),
        ("granted_not_declared", "warn"),
    ]


def test_a_coded_agent_has_none_of_the_loops_traps():
    assert codes(grant(TRUSTED, ms=None), agent("tool://loans/extend", kind="planned")) == {}


def test_a_scalar_that_builds_read_differently_is_pointed_out():
    row = next(row for row in cases("manifests") if "documents_newer_reader" in row)
    (manifest,) = manifests.read_file(row["yaml_text"].encode())
    assert [(each.code, each.place) for each in findings.find(manifest)] == [
        ("scalar_read_differently", "/spec/tools/0/arguments/v")
    ]


def test_the_contracts_sample_has_only_the_second_call_to_be_warned_of():
    row = next(row for row in cases("manifests") if row["name"].startswith("sample: the complete"))
    (manifest,) = manifests.read_file(row["yaml_text"].encode())
    assert {each.code for each in findings.find(manifest)} == {"source_closes_after_results"}
