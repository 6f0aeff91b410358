"""Calls whose driver fell silent come into the inbox, and what waits is put where search finds it (design section 5)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F

from salvor_admin.ledger import leases, services, tasks
from salvor_admin.ledger.models import Intent, Run
from salvor_admin.web.clock import database_now
from tests.people.factories import Cast
from tests.races import ROUNDS, THREADS, at_once
from tests.settlement.factories import Driver, a_driver, a_tool, the_runtime

pytestmark = pytest.mark.django_db


@pytest.fixture
def driver(cast: Cast) -> Driver:
    """A runtime with a trusted call under way."""
    a_tool(cast)
    driver = a_driver(the_runtime(cast))
    driver.ask()
    return driver


def lapse(driver: Driver) -> None:
    Run.objects.filter(run_id=driver.run_id).update(lease_seen_at=F("lease_seen_at") - timedelta(hours=1))


def is_waiting(intent: Intent) -> bool:
    intent.refresh_from_db()
    return intent.waits_at <= database_now()


def test_a_call_whose_driver_is_there_waits_for_nobody(driver: Driver) -> None:
    assert services.surface_silent_calls(at=database_now()) == 0
    assert not is_waiting(Intent.objects.get())


@pytest.mark.parametrize("how", ["lapsed", "released"])
def test_a_call_whose_driver_is_gone_waits_from_now_on(driver: Driver, how: str) -> None:
    if how == "lapsed":
        lapse(driver)
    else:
        driver.release()
    assert tasks.notice_lapsed_leases() == 1
    assert is_waiting(Intent.objects.get())
    assert tasks.notice_lapsed_leases() == 0


def test_a_driver_that_comes_back_does_not_take_its_call_out_again(driver: Driver) -> None:
    lapse(driver)
    tasks.notice_lapsed_leases()
    leases.prolong_lease(driver.door)
    tasks.notice_lapsed_leases()
    assert is_waiting(Intent.objects.get())


def test_a_call_that_waits_is_listed_once_and_a_young_one_is_not(driver: Driver) -> None:
    assert services.list_waiting_calls(at=database_now()) == 0
    assert Intent.objects.get().listed_at is None
    later = Intent.objects.get().waits_at
    assert services.list_waiting_calls(at=later) == 1
    assert services.list_waiting_calls(at=later) == 0
    assert Intent.objects.get().listed_at == later


def test_a_closed_call_is_neither_surfaced_nor_listed(driver: Driver) -> None:
    assert driver.report({"provider_refund_id": "re_1", "amount_cents": 5000}) is None
    lapse(driver)
    closed = Intent.objects.get()
    assert closed.listed_at == closed.closed_at is not None
    assert tasks.notice_lapsed_leases() == 0
    assert Intent.objects.get() == closed


@pytest.mark.django_db(transaction=True)
def test_sweeps_at_once_surface_every_call_and_do_no_harm(cast: Cast) -> None:
    a_tool(cast)
    for _ in range(ROUNDS):
        drivers = [a_driver(the_runtime(cast)) for _ in range(3)]
        for driver in drivers:
            driver.ask()
            driver.release()
        moved = at_once(*[tasks.notice_lapsed_leases] * THREADS)
        assert all(isinstance(count, int) for count in moved)
        assert all(is_waiting(intent) for intent in Intent.objects.filter(standing="open"))
        assert tasks.notice_lapsed_leases() == 0
