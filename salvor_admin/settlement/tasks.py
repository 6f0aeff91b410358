"""Sweeps over cases: found by rows, safe to run twice and at once."""

from __future__ import annotations

from celery import shared_task

from salvor_admin.people.models import Workspace
from salvor_admin.settlement import claims, evidence


@shared_task(name="settlement.close_answered_cases")
def close_answered_cases() -> int:
    """Close the cases whose calls ended without an answer from the inbox."""
    return sum(claims.close_answered_cases(pk) for pk in Workspace.objects.values_list("pk", flat=True))


@shared_task(name="settlement.forget_presences")
def forget_presences() -> int:
    """Forget who had a call open long ago."""
    return evidence.forget_presences()
