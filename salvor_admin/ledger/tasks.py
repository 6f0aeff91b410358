"""Sweeps over runs: found by rows, safe to run twice and at once."""

from __future__ import annotations

from celery import shared_task

from salvor_admin.ledger import services
from salvor_admin.web.clock import database_now


@shared_task(name="ledger.notice_lapsed_leases")
def notice_lapsed_leases() -> int:
    """Bring calls whose driver is gone into the inbox, and let search find what waits."""
    now = database_now()
    surfaced = services.surface_silent_calls(at=now)
    services.list_waiting_calls(at=now)
    return surfaced
