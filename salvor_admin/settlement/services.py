"""Answering a call that nobody witnessed: each outcome one door, used by pages, `/api` and `/v1` alike."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from django.db import transaction

from salvor_admin.domain import canonical, settling
from salvor_admin.domain.client_tools import ABSENT, Absent
from salvor_admin.domain.ledger import Failure
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.settling import CaseState, ClaimEnd, JudgeBy, Outcome
from salvor_admin.domain.strict_json import Json
from salvor_admin.ledger import services as ledger
from salvor_admin.ledger.models import Intent, Run
from salvor_admin.people.access import Actor
from salvor_admin.settlement import access, claims
from salvor_admin.settlement.claims import claim_case, extend_claim, hand_over_case, release_case
from salvor_admin.settlement.models import Case, Claim, KeptText, Settlement
from salvor_admin.web.clock import database_now

__all__: Final = [
    "abandon_call",
    "claim_case",
    "extend_claim",
    "hand_over_case",
    "leave_unknown",
    "release_case",
    "settle_call",
]


@transaction.atomic
def settle_call(
    *,
    intent_id: UUID,
    actor: Actor,
    outcome: Outcome,
    reason: str | None,
    output: Json = ABSENT,
    error: Failure | None = None,
    reason_code: str = "",
    judge_by: JudgeBy = JudgeBy.INTENT,
    claim_id: int | None = None,
    driver_attached_ok: bool = True,
    only_writes: bool = False,
    keeps_lease: bool = False,
) -> Settlement:
    """Records what became of a call: LANDED with its `output`, held to schema and pins, or FAILED with its `error`.

    Claims implicitly when nobody holds the case; `claim_id` is the claim an answer was written under, and a lapsed one
    refuses it. A `reason` of None is for `/v1`, whose resolve has no place for one; it settles `only_writes`. Raises
    `wrong_state` naming the holder, the attached driver, or whoever answered first; `bad_request` when the output does
    not fit.
    """
    answer = _answer(outcome, output, error)
    words, code = settling.decide_reason(reason, reason_code, is_required=reason is not None)
    touched = _touch(actor, intent_id, claim_id, "settled", "settle a call")
    _refuse_attached(touched, is_accepted=driver_attached_ok)
    judge_by = JudgeBy(judge_by)
    closed = ledger.append_settlement(
        intent_id=intent_id,
        answer=answer,
        settler=touched.actor,
        at=touched.now,
        judge_by=judge_by.value,
        only_writes=only_writes,
        keeps_lease=keeps_lease,
    )
    recorded = canonical.text(closed.payload["output"])
    settlement = _close(
        touched,
        outcome,
        reason=words,
        reason_code=code,
        output=recorded,
        appended_seq=closed.seq,
        judged_by_id=closed.judged_by_id,
    )
    _record(
        "case.settled",
        touched,
        outcome=outcome.value,
        reason_code=code,
        appended_seq=closed.seq,
        output_digest=canonical.digest(recorded),
        judge_by=judge_by.value,
    )
    return settlement


@transaction.atomic
def abandon_call(
    *,
    intent_id: UUID,
    actor: Actor,
    reason: str | None,
    reason_code: str = "",
    claim_id: int | None = None,
    driver_attached_ok: bool = True,
    wire_reason: str | Literal[Absent.ABSENT] | None = ABSENT,
) -> Settlement:
    """Will not happen: retires the call's whole run for good; an open write stays named as unresolved.

    `wire_reason` is what `/v1` was given for the closing event, kept there as it is; only without it is a `reason`
    needed. Raises what `settle_call` raises.
    """
    words, code = settling.decide_reason(reason, reason_code, is_required=wire_reason is ABSENT)
    touched = _touch(actor, intent_id, claim_id, "abandoned", "abandon a run")
    _refuse_attached(touched, is_accepted=driver_attached_ok)
    closed = ledger.append_abandonment(
        run=touched.run,
        reason=(words or None) if wire_reason is ABSENT else wire_reason,
        settler=touched.actor,
        at=touched.now,
    )
    settlement = _close(touched, Outcome.WILL_NOT_HAPPEN, reason=words, reason_code=code, appended_seq=closed.seq)
    _record("case.abandoned", touched, reason_code=code, appended_seq=closed.seq)
    return settlement


@transaction.atomic
def leave_unknown(
    *,
    intent_id: UUID,
    actor: Actor,
    reason: str,
    look_again_at: datetime,
    reason_code: str = "",
    claim_id: int | None = None,
) -> Settlement:
    """Still unknown: nothing is written to the run, the claim ends, and the call comes back to the inbox then."""
    words, code = settling.decide_reason(reason, reason_code, is_required=True)
    touched = _touch(actor, intent_id, claim_id, "left unknown", "leave a call unknown")
    at = settling.decide_look_again(look_again_at, now=touched.now)
    Intent.objects.filter(pk=intent_id, standing="open").update(waits_at=at)
    settlement = _settlement(touched, Outcome.STILL_UNKNOWN, reason=words, reason_code=code, look_again_at=at)
    _end_claim(touched)
    claims.move(touched.case, CaseState.WAITING, look_again_at=at)
    _forget_kept_text(touched)
    _record("case.still_unknown", touched, reason_code=code, look_again_at=at.isoformat())
    return settlement


# --- steps of an answer ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Touched:
    """A call about to be answered: its run, case and claim, locked in that order, at this moment."""

    actor: Actor
    run: Run
    intent: Intent
    case: Case
    claim: Claim | None
    now: datetime


def _touch(actor: Actor, intent_id: UUID, claim_id: int | None, done: str, purpose: str) -> _Touched:
    actor = access.settler(actor, purpose)
    run = access.run_of_call(actor, intent_id)
    intent = access.intent(actor, intent_id)
    case = claims.case_for_write(intent)
    claim = access.open_claim(case)
    now = database_now()
    settling.refuse_closed(claims.closed_facts(intent, case))
    settling.refuse_lapsed(claims.facts_of(claim), person_id=actor.person_id, claim_id=claim_id, now=now)
    settling.refuse_foreign(claims.facts_of(claim), person_id=actor.person_id, now=now, verb=done)
    return _Touched(actor, run, intent, case, claim, now)


def _answer(outcome: Outcome, output: Json, error: Failure | None) -> Json | Failure:
    if outcome is Outcome.LANDED and output is not ABSENT and error is None:
        return output
    if outcome is Outcome.FAILED and error is not None and output is ABSENT:
        return error
    raise Refusal(
        "bad_request",
        "A call that landed is settled with its output, one that failed with an error message; send the one that fits.",
        place="error" if outcome is Outcome.FAILED else "output",
    )


def _refuse_attached(touched: _Touched, *, is_accepted: bool) -> None:
    run = touched.run
    if ledger.is_driven(run, now=touched.now):
        driver = run.last_driver.name if run.last_driver else "A driver"
        settling.refuse_attached(driver=driver, is_accepted=is_accepted)


def _close(touched: _Touched, outcome: Outcome, **columns: Any) -> Settlement:
    settlement = _settlement(touched, outcome, **columns)
    _end_claim(touched)
    claims.move(touched.case, settling.STATE_AFTER[outcome], decided_at=touched.now, look_again_at=None)
    _forget_kept_text(touched)
    return settlement


def _settlement(touched: _Touched, outcome: Outcome, **columns: Any) -> Settlement:
    return Settlement.objects.create(
        case=touched.case,
        person=touched.actor.person,
        outcome=outcome.value,
        via=touched.actor.via,
        settled_at=touched.now,
        **columns,
    )


def _end_claim(touched: _Touched) -> None:
    if touched.claim is None:
        return
    lapsed = touched.claim.lapses_at <= touched.now
    claims.end_claim(
        touched.claim,
        how=ClaimEnd.LAPSED if lapsed else ClaimEnd.DECIDED,
        at=touched.claim.lapses_at if lapsed else touched.now,
    )


def _forget_kept_text(touched: _Touched) -> None:
    KeptText.objects.filter(case=touched.case, person_id=touched.actor.person_id).delete()


def _record(action: str, touched: _Touched, **details: Any) -> None:
    claims.record(
        action,
        touched.case,
        touched.intent,
        actor=touched.actor,
        at=touched.now,
        run=str(touched.run.run_id),
        **details,
    )
