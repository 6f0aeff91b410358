"""Sweeps over cases and calls: found by rows, and nothing happens twice."""

from __future__ import annotations

from datetime import timedelta

import pytest

from salvor_admin.ledger import services as ledger
from salvor_admin.people.access import Actor
from salvor_admin.settlement import evidence, selectors, services, tasks
from salvor_admin.settlement.models import Case, Claim, Presence
from salvor_admin.web.clock import database_now
from tests.people.factories import Cast
from tests.settlement.factories import OUTPUT, a_driver, a_tool, a_waiting_call, the_runtime

pytestmark = pytest.mark.django_db


def test_a_call_that_was_put_off_comes_back_when_it_was_said_and_no_sooner(cast: Cast, noor: Actor) -> None:
    a_tool(cast)
    call = a_waiting_call(cast)
    later = database_now() + timedelta(hours=2)
    services.leave_unknown(intent_id=call.pk, actor=noor, reason="The provider is down.", look_again_at=later)
    assert ledger.surface_silent_calls(at=database_now()) == 0
    assert selectors.count_waiting(noor.workspace_id) == (0, False)


def test_a_put_off_call_comes_back_at_once_when_its_client_reports_again(cast: Cast, noor: Actor) -> None:
    a_tool(cast)
    driver = a_driver(the_runtime(cast))
    call = driver.ask()
    driver.report({"amount_cents": 1})
    later = database_now() + timedelta(hours=2)
    services.leave_unknown(intent_id=call.pk, actor=noor, reason="The provider is down.", look_again_at=later)
    driver.report({"amount_cents": 2})
    assert selectors.count_waiting(noor.workspace_id) == (1, False)


def test_a_case_whose_call_its_client_closed_is_closed_too(cast: Cast, noor: Actor) -> None:
    a_tool(cast)
    driver = a_driver(the_runtime(cast))
    call = driver.ask()
    services.claim_case(intent_id=call.pk, actor=noor)
    assert tasks.close_answered_cases() == 0
    assert driver.report(OUTPUT) is None
    assert tasks.close_answered_cases() == 1
    assert tasks.close_answered_cases() == 0
    case = Case.objects.get()
    call.refresh_from_db()
    assert (case.state, case.decided_at) == ("closed_by_client", call.closed_at)
    assert Claim.objects.get().how == "overtaken"


def test_presences_of_long_ago_are_forgotten(cast: Cast, noor: Actor) -> None:
    a_tool(cast)
    call = a_waiting_call(cast)
    evidence.note_presence(intent_id=call.pk, actor=noor, is_editing=False)
    assert tasks.forget_presences() == 0
    Presence.objects.update(seen_at=database_now() - timedelta(hours=1))
    assert tasks.forget_presences() == 1
