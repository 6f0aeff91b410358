"""How a person's decision on `/v1` reaches the settlement of the call: the one seam between the two."""

from __future__ import annotations

from django.db import transaction

from salvor_admin.audit import services as audit
from salvor_admin.domain import ledger
from salvor_admin.domain.settling import LONGEST_REASON, Outcome
from salvor_admin.domain.strict_json import Json
from salvor_admin.ledger import access, declarations, selectors
from salvor_admin.ledger import services as runs
from salvor_admin.ledger.services import ClosedCall
from salvor_admin.people.access import Actor
from salvor_admin.settlement import services as settlement
from salvor_admin.web.clock import database_now


def resolve(run_id: str, output: Json, *, actor: Actor, keeps_lease: bool = False) -> None:
    """Settle the write that a run waits for, with the checks of contract 6.13 in their order; claims rule as on pages."""
    view = selectors.run(actor.workspace_id, run_id)
    call = access.open_call_at(view.pk, view.head.open_tool_seq)
    ledger.decide_settlement(
        view.head,
        run_id=view.run_id,
        intent=view.intent,
        tool=None if call is None else declarations.tool_of(call.revision_id),
        answer=output,
    )
    if call is None:
        raise RuntimeError(f"run {run_id} waits for a call that is not on record")
    settlement.settle_call(
        intent_id=call.pk,
        actor=actor,
        outcome=Outcome.LANDED,
        reason=None,
        output=output,
        only_writes=True,
        keeps_lease=keeps_lease,
    )


def abandon(run_id: str, reason: str | None, *, actor: Actor) -> int:
    """Retire a run; a call it waits for is closed with it. Answers the position of the closing event."""
    view = selectors.run(actor.workspace_id, run_id)
    call = access.open_call_at(view.pk, view.head.open_tool_seq)
    if call is not None:
        settled = settlement.abandon_call(intent_id=call.pk, actor=actor, reason=_noted(reason), wire_reason=reason)
        if settled.appended_seq is None:
            raise RuntimeError("a run was abandoned without an event")
        return settled.appended_seq
    with transaction.atomic():
        now = database_now()
        run = access.run_for_write(actor.workspace_id, run_id)
        closed = runs.append_abandonment(run=run, reason=reason, settler=actor, at=now)
        details = {"run": run_id, "appended_seq": closed.seq}
        audit.record("run.abandoned", subject=("run", run_id), actor=actor, at=now, details=details)
    return closed.seq


def abandon_by_runtime(workspace_id: int, run_id: str, reason: str | None) -> int:
    """A runtime retires a run of its workspace that waits for no write."""
    with transaction.atomic():
        run = access.run_for_write(workspace_id, run_id)
        ledger.refuse_runtime(run.head, run_id=run_id, verb="abandon")
        closed: ClosedCall = runs.append_abandonment(run=run, reason=reason, settler=None, at=database_now())
    return closed.seq


def _noted(reason: str | None) -> str:
    """A wire's reason as a settlement keeps it beside the event, which has all of it."""
    return (reason or "").replace("\0", "\\u0000").strip()[:LONGEST_REASON]
