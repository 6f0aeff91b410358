"""How often a client tool was called of late, counted exactly as far as counting is cheap."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from salvor_admin.ledger.models import Intent
from salvor_admin.web.clock import database_now

COUNTED: Final = 1000
WEEK: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class RecentCalls:
    """The calls of a week. `more`: there are over a thousand, and what is told by outcome is of a thousand of them."""

    number: int
    more: bool
    believed: int
    from_record: int
    by_person: int
    abandoned: int
    waiting: int
    with_refusals: int


def of_tool(workspace_id: int, tool: str) -> RecentCalls:
    """The calls of one tool within the last seven days, by what became of them; reads at most a thousand and one rows."""
    since = database_now() - WEEK
    rows = list(
        Intent.objects.filter(workspace_id=workspace_id, tool=tool, recorded_at__gte=since)
        .order_by()
        .values_list("standing", "refusals")[: COUNTED + 1]
    )
    told = rows[:COUNTED]
    standings = Counter(standing for standing, _ in told)
    return RecentCalls(
        number=len(told),
        more=len(rows) > COUNTED,
        believed=standings["completed"],
        from_record=standings["copied"],
        by_person=standings["settled"],
        abandoned=standings["abandoned"],
        waiting=standings["open"],
        with_refusals=sum(1 for _, refusals in told if refusals),
    )
