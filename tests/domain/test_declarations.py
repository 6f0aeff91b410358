"""Tool declarations and which tool answers a call (contract 2.1 and 2.2)."""

from __future__ import annotations

import pytest

from salvor_admin.domain import declarations, tool_ids
from salvor_admin.domain.declarations import CacheTtl
from salvor_admin.domain.refusals import Refusal

LEVEL = tool_ids.parse("tool://tide/station.level")
SCHEMA = {"type": "object"}


def test_an_offering_takes_the_wire_name_and_remembers_its_tool():
    offer = declarations.offering(LEVEL, "Read the last level of a gauge.", SCHEMA)
    assert (offer.name, offer.tool, offer.cache) == ("tide__station-level", LEVEL, None)


def test_a_new_declaration_stands_for_no_tool_and_may_be_empty():
    offer = declarations.new("", "", {})
    assert (offer.name, offer.description, offer.tool, offer.cache) == ("", "", None, None)


def test_naming_replaces_the_name_alone():
    offer = declarations.offering(LEVEL, "d", SCHEMA).cache_breakpoint(CacheTtl.ONE_HOUR)
    renamed = offer.named("level")
    assert (renamed.name, renamed.tool, renamed.cache) == ("level", LEVEL, CacheTtl.ONE_HOUR)
    assert offer.name == "tide__station-level"


def test_declarations_are_equal_when_all_five_members_are():
    one = declarations.offering(LEVEL, "d", SCHEMA)
    assert one == declarations.offering(LEVEL, "d", {"type": "object"})
    assert one != one.cache_breakpoint(CacheTtl.FIVE_MINUTES)
    assert one != declarations.new("tide__station-level", "d", SCHEMA)


def test_a_call_runs_the_tool_of_the_one_offer_it_names():
    offers = [declarations.offering(LEVEL, "d", SCHEMA).named("level"), declarations.new("other", "d", SCHEMA)]
    assert declarations.answered_tool("level", offers) == LEVEL


@pytest.mark.parametrize(
    ("called", "code"),
    [
        ("Level", "tool_not_offered"),
        ("level ", "tool_not_offered"),
        ("tide__station-level", "tool_offered_twice"),
        ("own", "offer_without_tool"),
    ],
)
def test_a_call_that_no_single_offer_answers_is_refused(called, code):
    offer = declarations.offering(LEVEL, "d", SCHEMA)
    offers = [offer, offer, offer.named("level"), declarations.new("own", "d", SCHEMA)]
    with pytest.raises(Refusal) as caught:
        declarations.answered_tool(called, offers)
    assert caught.value.code == code
