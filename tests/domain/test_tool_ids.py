"""Tool references and wire names (contract 1 and 2.3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salvor_admin.domain import tool_ids
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.tool_ids import ToolId
from tests.domain.agentplane_vectors import case_name, cases

ROWS = cases("tool_ids")

CONTRACT_1_ACCEPTED = [
    ("tool://crm/lookup_customer", "crm__lookup_customer"),
    ("tool://billing.eu/refund.create", "billing-eu__refund-create"),
    ("tool://CRM/Lookup", "CRM__Lookup"),
    ("tool://9/9", "9__9"),
    ("tool://a./.b", "a-__-b"),
    ("tool://./.", "-__-"),
    ("tool://crm/a._b", "crm__a-_b"),
    ("tool://a_b/c_d", "a_b__c_d"),
]
CONTRACT_1_REFUSED = [
    "tool://crm/get-order",
    "tool://crm/a/b",
    "tool://crm/",
    "tool://crm",
    "tool:////x",
    "TOOL://crm/x",
    "mcp://crm/x",
    "tool://crm/_x",
    "tool://crm/x_",
    "tool://crm/a__b",
    "tool://crm__eu/x",
    "tool://crm/x ",
    "tool://crm/naïve",
    "tool://crm/x?y=1",
    "tool://crm/x/",
]


@pytest.mark.parametrize("row", ROWS, ids=case_name)
def test_a_reference_is_read_as_the_reference_program_reads_it(row):
    if not row["accepted"]:
        with pytest.raises(Refusal) as refused:
            tool_ids.parse(row["reference"])
        assert refused.value.code == "tool_reference_invalid"
        return
    expected = row.get("parts") or {"server": row["server"], "tool": row["tool"]}
    assert tool_ids.parse(row["reference"]) == ToolId(**expected)


@pytest.mark.parametrize("row", [row for row in ROWS if row["accepted"] and "wire_name" in row], ids=case_name)
def test_the_wire_name_is_the_recorded_one(row):
    assert tool_ids.parse(row["reference"]).wire_name == row["wire_name"]


@pytest.mark.parametrize("row", [row for row in ROWS if "parts" in row], ids=case_name)
def test_an_id_built_from_two_texts_keeps_them_even_where_its_reference_does_not_parse(row):
    built = ToolId(**row["parts"])
    assert built.reference == row["reference"]
    assert built.wire_name == row["naive_wire_name"]
    assert tool_ids.is_reference(built.reference) is row["catalogue_accepts"]


@pytest.mark.parametrize(("reference", "wire_name"), CONTRACT_1_ACCEPTED)
def test_an_accepted_sample_of_the_contract_has_its_wire_name(reference, wire_name):
    assert tool_ids.parse(reference).wire_name == wire_name


@pytest.mark.parametrize("reference", CONTRACT_1_REFUSED)
def test_a_refused_sample_of_the_contract_is_refused(reference):
    assert not tool_ids.is_reference(reference)


def test_only_the_exact_server_name_agent_is_a_consultation():
    assert tool_ids.parse("tool://agent/desk.answer").is_consultation
    assert not tool_ids.parse("tool://Agent/x").is_consultation


def test_a_refusal_names_its_place_and_stays_short_for_a_huge_reference():
    with pytest.raises(Refusal) as refused:
        tool_ids.parse("tool://crm/" + "-" * 100_000, place="/spec/tools/0/ref")
    assert refused.value.place == "/spec/tools/0/ref"
    assert len(refused.value.message) < 600


_component = st.text(alphabet="abZ09_.", min_size=1, max_size=8).filter(
    lambda text: tool_ids.component_problem(text) is None
)


@given(first=st.tuples(_component, _component), second=st.tuples(_component, _component))
def test_two_different_references_never_share_a_wire_name(first, second):
    one, other = ToolId(*first), ToolId(*second)
    assert (one == other) == (one.wire_name == other.wire_name)


@given(parts=st.tuples(_component, _component))
def test_a_grant_can_never_produce_a_reserved_name(parts):
    assert ToolId(*parts).wire_name not in tool_ids.RESERVED_WIRE_NAMES
