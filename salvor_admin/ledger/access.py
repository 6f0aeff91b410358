"""Fetching the runs and calls that an actor may touch; hidden and missing look the same."""

from __future__ import annotations

import hmac
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import DurationField, ExpressionWrapper, F, Q, QuerySet, Value

from salvor_admin.domain import ledger
from salvor_admin.domain.leases import Lease
from salvor_admin.domain.refusals import Refusal
from salvor_admin.ledger.models import Intent, Run


def run(workspace_id: int, run_id: str) -> Run:
    """A run with at least one event, or `unknown_run`."""
    found = Run.objects.filter(workspace_id=workspace_id, run_id=run_id, next_seq__gt=0).first()
    if found is None:
        raise ledger.unknown_run(run_id)
    return found


def run_for_write(workspace_id: int, run_id: str) -> Run:
    """The same, locked until commit."""
    found = (
        Run.objects.select_for_update(no_key=True, of=("self",))
        .filter(workspace_id=workspace_id, run_id=run_id, next_seq__gt=0)
        .first()
    )
    if found is None:
        raise ledger.unknown_run(run_id)
    return found


def run_of_call(workspace_id: int, intent_id: UUID) -> Run:
    """The run of a call, locked until commit."""
    found = (
        Run.objects.select_for_update(no_key=True, of=("self",))
        .filter(workspace_id=workspace_id, intents__pk=intent_id)
        .first()
    )
    if found is None:
        raise Refusal("not_found", "There is no such call here. Check the address, or start from the inbox.")
    return found


def open_call_at(run_pk: int, seq: int | None) -> Intent | None:
    """The call that a run waits for at this position."""
    return None if seq is None else Intent.objects.filter(run_id=run_pk, seq=seq).first()


def lease(workspace_id: int, run_id: str, lease_hash: bytes | None) -> Lease | None:
    """A run's lease, and whether this is its token; for the gate alone."""
    held = Run.objects.filter(workspace_id=workspace_id, run_id=run_id, lease_hash__isnull=False)
    stored = held.values_list("lease_hash", flat=True).first()
    if stored is None:
        return None
    is_callers = lease_hash is not None and hmac.compare_digest(bytes(stored), lease_hash)
    return Lease(is_callers=is_callers, is_current=True, lapses_in_seconds=1)


def workspaces_with_silent_calls(at: datetime) -> list[int]:
    """Workspaces in which some open call is not yet waiting."""
    rows = Intent.objects.filter(standing="open", waits_at__gt=at).values_list("workspace_id", flat=True)
    return list(rows.distinct().order_by("workspace_id"))


def silent_calls(workspace_id: int, at: datetime) -> QuerySet[Intent, UUID]:
    """Open calls not yet waiting whose run nobody holds any more."""
    second = Value(timedelta(seconds=1))
    ttl = ExpressionWrapper(F("run__lease_ttl_seconds") * second, output_field=DurationField())
    patience = ExpressionWrapper(F("workspace__patience_seconds") * second, output_field=DurationField())
    return (
        Intent.objects.filter(workspace_id=workspace_id, standing="open", waits_at__gt=at)
        .filter(Q(run__lease_hash__isnull=True) | Q(run__lease_seen_at__lte=Value(at) - ttl))
        # What waits longer than the workspace's patience was put off by a person, and comes back when they said.
        .filter(waits_at__lte=F("recorded_at") + patience)
        .order_by("waits_at", "id")
        .values_list("pk", flat=True)
    )
