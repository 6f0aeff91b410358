"""Holding a case: claim, extend, release, hand over. One person at a time, judged by the database's clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from salvor_admin.audit import services as audit
from salvor_admin.domain import settling
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role
from salvor_admin.domain.settling import CaseState, ClaimEnd, ClaimFacts, Closed, Outcome
from salvor_admin.ledger.models import Intent
from salvor_admin.outbox import services as outbox
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Membership
from salvor_admin.people.services import next_number
from salvor_admin.settlement import access
from salvor_admin.settlement.models import Case, Claim, Settlement
from salvor_admin.web.clock import database_now


@transaction.atomic
def claim_case(*, intent_id: UUID, actor: Actor) -> Claim:
    """Holds the case of a call for this settler; one who holds it already keeps it for longer.

    Raises `wrong_state` naming whoever holds it, or who closed the call.
    """
    actor = access.settler(actor, "claim a call")
    case = case_for_write(access.intent(actor, intent_id))
    intent = access.intent(actor, intent_id)
    now = database_now()
    standing = access.open_claim(case)
    lapses_at = settling.decide_claim(
        facts_of(standing),
        person_id=actor.person_id,
        closed=closed_facts(intent, case),
        now=now,
        hold_for=_hold_for(actor),
    )
    if standing is not None and standing.person_id == actor.person_id and standing.lapses_at > now:
        return _extend(standing, lapses_at)
    details: dict[str, Any] = {}
    if standing is not None:
        end_claim(standing, how=ClaimEnd.LAPSED, at=standing.lapses_at)
        if standing.person_id != actor.person_id:
            details["taken_over_from"] = standing.person.username
    claim = Claim.objects.create(case=case, person=actor.person, claimed_at=now, lapses_at=lapses_at)
    move(case, CaseState.CLAIMED)
    record("case.claimed", case, intent, actor=actor, at=now, **details)
    return claim


@transaction.atomic
def extend_claim(*, intent_id: UUID, actor: Actor, claim_id: int | None = None) -> Claim:
    """Activity under a claim extends it; one that lapsed is refused, whoever holds the case by now."""
    actor = access.settler(actor, "extend a claim")
    access.intent(actor, intent_id)
    case = _known_case(intent_id)
    now = database_now()
    standing = access.open_claim(case)
    lapses_at = settling.decide_extension(
        facts_of(standing), person_id=actor.person_id, claim_id=claim_id, now=now, hold_for=_hold_for(actor)
    )
    if standing is None:
        raise RuntimeError("an extension was decided without a claim")
    return _extend(standing, lapses_at)


@transaction.atomic
def release_case(*, intent_id: UUID, actor: Actor) -> Claim:
    """Hands the case back to everybody."""
    actor = access.settler(actor, "release a call")
    intent = access.intent(actor, intent_id)
    case = _known_case(intent_id)
    now = database_now()
    standing = access.open_claim(case)
    settling.decide_release(facts_of(standing), person_id=actor.person_id, now=now)
    claim = end_claim(standing, how=ClaimEnd.RELEASED, at=now)
    move(case, CaseState.WAITING)
    record("case.released", case, intent, actor=actor, at=now)
    return claim


@transaction.atomic
def hand_over_case(*, intent_id: UUID, actor: Actor, to: str) -> Claim:
    """Hands the case one holds to another settler of the workspace, named by user name, for a whole claim."""
    actor = access.settler(actor, "hand a call over")
    intent = access.intent(actor, intent_id)
    taker = (
        Membership.objects.select_related("person")
        .filter(
            workspace_id=actor.workspace_id,
            # The database cannot be asked for NUL; no user name holds what stands in for it.
            person__username__iexact=to.replace("\0", "\ufffd"),
            person__is_active=True,
            roles__contains=[Role.SETTLER.value],
        )
        .first()
    )
    if taker is None:
        raise Refusal("bad_request", f"{to!r} is no settler of this workspace; choose one of the list.", place="to")
    case = _known_case(intent_id)
    now = database_now()
    standing = access.open_claim(case)
    settling.refuse_closed(closed_facts(intent, case))
    settling.decide_hand_over(facts_of(standing), person_id=actor.person_id, to_id=taker.person_id, now=now)
    end_claim(standing, how=ClaimEnd.HANDED_OVER, at=now)
    claim = Claim.objects.create(case=case, person=taker.person, claimed_at=now, lapses_at=now + _hold_for(actor))
    move(case, CaseState.CLAIMED)
    record("case.handed_over", case, intent, actor=actor, at=now, to=taker.person.username)
    return claim


# --- what every write about a case needs -----------------------------------------------------------------------------


def case_for_write(intent: Intent) -> Case:
    """The call's case, locked; made at the first touch."""
    case = access.case_of(intent.pk)
    if case is not None:
        return case
    # Whoever touches the call first makes the case; the others wait at the intent and find it.
    Intent.objects.select_for_update(no_key=True, of=("self",)).get(pk=intent.pk)
    case = access.case_of(intent.pk)
    if case is not None:
        return case
    return Case.objects.create(
        workspace_id=intent.workspace_id,
        number=next_number(intent.workspace_id, "last_case"),
        kind="unsettled",
        intent=intent,
        opened_at=database_now(),
    )


def _known_case(intent_id: UUID) -> Case:
    case = access.case_of(intent_id)
    if case is None:
        raise Refusal(
            "wrong_state", "Nobody holds this call, so there is nothing to do with its claim. Claim it first."
        )
    return case


def facts_of(claim: Claim | None) -> ClaimFacts | None:
    """What the rules need to know of a claim."""
    if claim is None:
        return None
    return ClaimFacts(
        holder_id=claim.person_id,
        holder_name=claim.person.name or claim.person.username,
        lapses_at=claim.lapses_at,
        claim_id=claim.pk,
    )


@transaction.atomic
def close_answered_cases(workspace_id: int, *, most: int = 500) -> int:
    """Closes the cases whose calls ended without an answer from here; safe to run twice and at once."""
    open_states = [CaseState.WAITING.value, CaseState.CLAIMED.value]
    cases = (
        Case.objects.select_for_update(no_key=True, of=("self",), skip_locked=True)
        .select_related("intent")
        .filter(workspace_id=workspace_id, state__in=open_states, kind="unsettled")
        .exclude(intent__standing="open")
        .order_by("pk")[:most]
    )
    closed = 0
    for case in cases:
        if case.intent is None or case.intent.closed_at is None:
            continue
        standing = access.open_claim(case)
        if standing is not None:
            lapsed = standing.lapses_at <= case.intent.closed_at
            end_claim(
                standing,
                how=ClaimEnd.LAPSED if lapsed else ClaimEnd.OVERTAKEN,
                at=standing.lapses_at if lapsed else max(case.intent.closed_at, standing.claimed_at),
            )
        move(
            case,
            settling.state_of(case.intent.standing, stored=None, is_held=False),
            decided_at=case.intent.closed_at,
        )
        closed += 1
    return closed


def closed_facts(intent: Intent, case: Case | None) -> Closed | None:
    """How a call was closed, by whom and when; None while it is open."""
    if intent.standing == "open":
        return None
    state = settling.state_of(intent.standing, stored=case.state if case else None, is_held=False)
    settlement = (
        Settlement.objects.select_related("person")
        .filter(case=case)
        .exclude(outcome=Outcome.STILL_UNKNOWN.value)
        .order_by("settled_at")
        .first()
        if case
        else None
    )
    by = (settlement.person.name or settlement.person.username) if settlement else None
    return Closed(state=state, by=by, at=settlement.settled_at if settlement else intent.closed_at)


def end_claim(claim: Claim | None, *, how: ClaimEnd, at: datetime) -> Claim:
    """The one place where a claim ends."""
    if claim is None:
        raise RuntimeError("the end of a claim was decided without a claim")
    claim.ended_at, claim.how = at, how.value
    claim.save(update_fields=["ended_at", "how"])
    return claim


def move(case: Case, state: CaseState, **columns: Any) -> None:
    """The one place where a case changes its state."""
    case.state, case.version = state.value, case.version + 1
    for name, value in columns.items():
        setattr(case, name, value)
    case.save(update_fields=["state", "version", *columns])


def record(action: str, case: Case, intent: Intent, *, actor: Actor, at: datetime, **details: Any) -> None:
    """Tells the outbox and, last of all, the audit trail."""
    subject = ("case", case.pk)
    ids = {"case": case.number, "intent": str(intent.pk), "tool": intent.tool, "by": actor.person_id}
    outbox.tell(action, workspace_id=actor.workspace_id, subject=subject, at=at, ids=ids)
    about = {"case": case.number, "call": str(intent.pk), "tool": intent.tool, "seq": intent.seq}
    audit.record(action, subject=subject, actor=actor, at=at, details={**about, **details})


def _extend(claim: Claim, lapses_at: datetime) -> Claim:
    claim.lapses_at = max(claim.lapses_at, lapses_at)
    claim.save(update_fields=["lapses_at"])
    return claim


def _hold_for(actor: Actor) -> timedelta:
    return timedelta(seconds=actor.workspace.claim_seconds)
