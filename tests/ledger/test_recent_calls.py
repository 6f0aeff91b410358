"""How often a tool was called within a week: exact to a thousand, then no further."""

from __future__ import annotations

from datetime import timedelta

import pytest

from salvor_admin.ledger import recent_calls
from salvor_admin.ledger.models import Intent
from salvor_admin.web.clock import database_now
from tests.people.factories import Cast
from tests.settlement.factories import OUTPUT, a_driver, a_tool, a_waiting_call, the_runtime

pytestmark = pytest.mark.django_db


def closed(like: Intent, number: int, *, tool: str = "refund_card", days: float = 1) -> list[Intent]:
    """Calls that were closed some days ago."""
    at = database_now() - timedelta(days=days)
    taken = Intent.objects.count()
    return Intent.objects.bulk_create(
        Intent(
            workspace=like.workspace,
            run=like.run,
            seq=10_000 + taken + place,
            tool=tool,
            effect="write",
            idempotency_key=like.idempotency_key,
            revision=like.revision,
            publication=1,
            runtime=like.runtime,
            recorded_at=at,
            waits_at=at,
            standing="completed",
            closed_at=at,
        )
        for place in range(number)
    )


def test_calls_are_told_by_what_became_of_them(cast: Cast) -> None:
    a_tool(cast)
    a_waiting_call(cast)
    driver = a_driver(the_runtime(cast))
    driver.ask()
    assert driver.report(OUTPUT) is None
    driver.ask()
    told = recent_calls.of_tool(cast.workspace.pk, "refund_card")
    assert (told.number, told.more) == (3, False)
    assert (told.believed, told.from_record, told.by_person, told.abandoned, told.waiting) == (1, 1, 0, 0, 1)
    assert told.with_refusals == 1


def test_a_thousand_is_exact_and_one_more_is_not_counted(cast: Cast) -> None:
    a_tool(cast)
    like = a_waiting_call(cast)
    closed(like, 999)
    assert (recent_calls.of_tool(cast.workspace.pk, "refund_card")).number == 1000
    assert (recent_calls.of_tool(cast.workspace.pk, "refund_card")).more is False
    closed(like, 1)
    told = recent_calls.of_tool(cast.workspace.pk, "refund_card")
    assert (told.number, told.more) == (1000, True)


def test_older_calls_and_other_tools_do_not_count(cast: Cast) -> None:
    a_tool(cast)
    like = a_waiting_call(cast)
    closed(like, 3, days=7.01)
    closed(like, 3, tool="wire_payout")
    assert recent_calls.of_tool(cast.workspace.pk, "refund_card").number == 1
    assert recent_calls.of_tool(cast.workspace.pk + 1, "refund_card").number == 0
