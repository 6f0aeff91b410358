"""What pages and `/api` show of calls that wait, and of those that were answered."""

from __future__ import annotations

from typing import Final

from django.db.models.functions import Now

from salvor_admin.ledger.models import Intent

COUNTED_TO: Final = 1000
"""Where counting stops: nobody counts a table to say how much waits."""


def count_waiting(workspace_id: int) -> tuple[int, bool]:
    """How many calls wait for a person now, and whether there are more than were counted."""
    waiting = Intent.objects.filter(workspace_id=workspace_id, standing="open", waits_at__lte=Now())
    found = waiting.order_by()[: COUNTED_TO + 1].count()
    return min(found, COUNTED_TO), found > COUNTED_TO
