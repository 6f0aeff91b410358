"""Search over what waits: by the index where finds are rare, along the list where they are not."""

from __future__ import annotations

from datetime import timedelta

import pytest

from salvor_admin.ledger.models import Intent
from salvor_admin.people.access import Actor
from salvor_admin.settlement import search, selectors
from salvor_admin.settlement.selectors import CallFilter, CallPage
from salvor_admin.web.clock import database_now
from tests.people.factories import Cast
from tests.settlement.factories import a_tool, a_waiting_call

pytestmark = pytest.mark.django_db


@pytest.fixture
def calls(cast: Cast) -> list[Intent]:
    """Five that wait, the last one the longest; the middle one is of another order, one is not in the index yet."""
    a_tool(cast)
    made = []
    for n in range(5):
        order = "XY-9" if n == 2 else f"ORD-{n}"
        call = a_waiting_call(cast, input={"order_id": order, "amount_cents": 1 + n})
        Intent.objects.filter(pk=call.pk).update(waits_at=call.waits_at - timedelta(hours=n))
        made.append(call)
    Intent.objects.filter(pk=made[3].pk).update(listed_at=None)
    return made


def found(noor: Actor, q: str) -> CallPage:
    return selectors.calls(noor, CallFilter(q=q), now=database_now())


@pytest.mark.parametrize("looked_at", [3, 1000])
@pytest.mark.parametrize(("q", "wanted"), [("ord-", [4, 3, 1, 0]), ("ORD-3", [3]), ("xy", [2]), ("zz", [])])
def test_both_ways_find_the_same_calls_by_due_time(
    noor: Actor, calls: list[Intent], monkeypatch: pytest.MonkeyPatch, looked_at: int, q: str, wanted: list[int]
) -> None:
    monkeypatch.setattr(search, "LOOKED_AT", looked_at)
    monkeypatch.setattr(search, "DENSE", 1)
    assert [row.intent.pk for row in found(noor, q).rows] == [calls[n].pk for n in wanted]


@pytest.mark.parametrize("looked_at", [3, 1000])
def test_a_run_is_found_beside_what_its_id_reads_like(
    noor: Actor, calls: list[Intent], monkeypatch: pytest.MonkeyPatch, looked_at: int
) -> None:
    monkeypatch.setattr(search, "LOOKED_AT", looked_at)
    monkeypatch.setattr(search, "DENSE", 0)
    page = found(noor, str(calls[1].run.run_id)[:18])
    assert [row.intent.pk for row in page.rows] == [calls[1].pk]


def test_of_too_many_finds_the_first_by_due_time_are_shown_and_nobody_counts(
    noor: Actor, calls: list[Intent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FEW", 2)
    page = found(noor, "ord-")
    assert [row.intent.pk for row in page.rows] == [calls[4].pk, calls[3].pk]
    assert (page.matching, page.more) == (2, True)


def test_of_a_list_that_is_walked_only_the_least_number_is_told(
    noor: Actor, calls: list[Intent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "LOOKED_AT", 3)
    monkeypatch.setattr(search, "DENSE", 2)
    page = found(noor, "ord-")
    assert (len(page.rows), page.matching, page.more) == (4, 2, True)
