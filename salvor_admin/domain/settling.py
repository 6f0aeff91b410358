"""The human side of a call: states of a case, claims, outcomes, and who may answer (design sections 5 and 11)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final, NoReturn

from salvor_admin.domain.refusals import Refusal


class CaseState(StrEnum):
    WAITING = "waiting"
    CLAIMED = "claimed"
    SETTLED_LANDED = "settled_landed"
    SETTLED_FAILED = "settled_failed"
    ABANDONED = "abandoned"
    CLOSED_BY_CLIENT = "closed_by_client"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    ESCALATED = "escalated"


DECIDED = frozenset(CaseState) - {CaseState.WAITING, CaseState.CLAIMED, CaseState.ESCALATED}


class Outcome(StrEnum):
    LANDED = "landed"
    FAILED = "failed"
    WILL_NOT_HAPPEN = "will_not_happen"
    STILL_UNKNOWN = "still_unknown"


class ReasonCode(StrEnum):
    SEEN_AT_PROVIDER = "seen_at_provider"
    PERFORMED_BY_HAND = "performed_by_hand"
    PROVIDER_REFUSED = "provider_refused"
    DUPLICATE = "duplicate"
    OTHER = "other"


class ClaimEnd(StrEnum):
    """How a claim ended; a lapse is written down only when somebody else takes over."""

    RELEASED = "released"
    LAPSED = "lapsed"
    HANDED_OVER = "handed_over"
    DECIDED = "decided"
    OVERTAKEN = "overtaken"
    """The call was closed by its client, or its run ended, before its holder answered."""


class JudgeBy(StrEnum):
    """Whose output schema and pins hold an output: the revision named on the intent, or the one live now."""

    INTENT = "intent"
    LIVE = "live"


STATE_AFTER: Final = {
    Outcome.LANDED: CaseState.SETTLED_LANDED,
    Outcome.FAILED: CaseState.SETTLED_FAILED,
    Outcome.WILL_NOT_HAPPEN: CaseState.ABANDONED,
}
LONGEST_REASON: Final = 4_000
LONGEST_WAIT: Final = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """Who holds a case and until when; `lapses_at` and `now` are the database's time."""

    holder_id: int
    holder_name: str
    lapses_at: datetime
    claim_id: int = 0


@dataclass(frozen=True, slots=True)
class Closed:
    """That a call is closed already: how, by whom (a person, or None for the client) and when."""

    state: CaseState
    by: str | None
    at: datetime | None


def state_of(standing: str, *, stored: str | None, is_held: bool) -> CaseState:
    """The state of an unsettled call's case, which follows the intent's standing; a lapsed claim counts as none."""
    if standing == "open":
        return CaseState.CLAIMED if is_held else CaseState.WAITING
    if stored is not None and CaseState(stored) in DECIDED:
        return CaseState(stored)
    return {
        "settled": CaseState.SETTLED_LANDED,
        "abandoned": CaseState.ABANDONED,
    }.get(standing, CaseState.CLOSED_BY_CLIENT)


def standing_claim(claim: ClaimFacts | None, *, now: datetime) -> ClaimFacts | None:
    """The claim when it still holds; a lapse is computed, never stored."""
    return claim if claim is not None and claim.lapses_at > now else None


# --- claims ----------------------------------------------------------------------------------------------------------


def decide_claim(
    claim: ClaimFacts | None, *, person_id: int, closed: Closed | None, now: datetime, hold_for: timedelta
) -> datetime:
    """When the claim will lapse, or the refusal that names who holds the case or closed the call."""
    refuse_closed(closed)
    refuse_foreign(claim, person_id=person_id, now=now, verb="claimed")
    return now + hold_for


def decide_extension(
    claim: ClaimFacts | None, *, person_id: int, claim_id: int | None, now: datetime, hold_for: timedelta
) -> datetime:
    """Activity extends the very claim it happened under, and none that lapsed or that somebody else holds."""
    held = _own_claim(claim, person_id=person_id, now=now)
    if held is None or (claim_id is not None and held.claim_id != claim_id):
        _refuse_lapsed(claim, person_id=person_id, now=now)
    return now + hold_for


def decide_release(claim: ClaimFacts | None, *, person_id: int, now: datetime) -> None:
    """Only the holder hands a case back."""
    if _own_claim(claim, person_id=person_id, now=now) is None:
        held = standing_claim(claim, now=now)
        raise Refusal(
            "wrong_state",
            "You do not hold this case"
            + (f"; {held.holder_name} does" if held else ", nobody does")
            + ". There is nothing to release; claim it first if you want it.",
            details={"holder": held.holder_name if held else None},
        )


def decide_hand_over(claim: ClaimFacts | None, *, person_id: int, to_id: int, now: datetime) -> None:
    """Only the holder hands a case over, and to somebody else."""
    if to_id == person_id:
        raise Refusal("bad_request", "You hold this case yourself. Name another settler to hand it to.", place="to")
    decide_release(claim, person_id=person_id, now=now)


def refuse_foreign(claim: ClaimFacts | None, *, person_id: int, now: datetime, verb: str) -> None:
    """Raises when somebody else holds the case, naming them and how long."""
    held = standing_claim(claim, now=now)
    if held is not None and held.holder_id != person_id:
        left = max(1, int((held.lapses_at - now).total_seconds() + 0.999))
        raise Refusal(
            "wrong_state",
            f"{held.holder_name} holds this case for another {left}s, so it cannot be {verb} now; "
            f"ask {held.holder_name}, or wait until the claim lapses.",
            details={"state": "claimed", "holder": held.holder_name},
        )


def refuse_lapsed(claim: ClaimFacts | None, *, person_id: int, claim_id: int | None, now: datetime) -> None:
    """Raises when an answer was written under a claim that no longer stands; under none, the answer claims itself.

    Whoever has claimed the case anew since may not answer under the old claim: others may have held it in between.
    """
    held = _own_claim(claim, person_id=person_id, now=now)
    if claim_id is not None and (held is None or held.claim_id != claim_id):
        _refuse_lapsed(claim, person_id=person_id, now=now)


def _own_claim(claim: ClaimFacts | None, *, person_id: int, now: datetime) -> ClaimFacts | None:
    held = standing_claim(claim, now=now)
    return held if held is not None and held.holder_id == person_id else None


def _refuse_lapsed(claim: ClaimFacts | None, *, person_id: int, now: datetime) -> NoReturn:
    held = standing_claim(claim, now=now)
    if held is None:
        who, next_step = "nobody holds the case now", "Claim it again and look at it anew before you answer"
    elif held.holder_id == person_id:
        who, next_step = "you hold the case by a newer one", "Look at the case anew and answer from there"
    else:
        who, next_step = f"{held.holder_name} holds the case now", f"Ask {held.holder_name}"
    raise Refusal(
        "wrong_state",
        f"Your claim has ended or lapsed, and {who}; nothing was written. {next_step}.",
        details={"state": "claimed" if held else "waiting", "holder": held.holder_name if held else None},
    )


# --- answers ---------------------------------------------------------------------------------------------------------


def refuse_closed(closed: Closed | None) -> None:
    """Raises when the call is closed already, saying how, by whom and when."""
    if closed is None:
        return
    who = closed.by or "the client's own report"
    when = f" on {told(closed.at)}" if closed.at else ""
    raise Refusal(
        "wrong_state",
        f"This call is {closed.state.value.replace('_', ' ')} already: {who} was first{when}. Nothing was changed; "
        "reload to see what was recorded.",
        details={
            "state": closed.state.value,
            "by": closed.by,
            "at": closed.at.astimezone(UTC).isoformat() if closed.at else None,
        },
    )


def refuse_attached(*, driver: str, is_accepted: bool) -> None:
    """Raises while a driver still holds the run, unless whoever answers has said that they know."""
    if not is_accepted:
        raise Refusal(
            "wrong_state",
            f"{driver} still drives this run and may be about to report. Wait for it, or tick that you answer in its "
            "place; its hold on the run is then dropped.",
            place="driver_attached_ok",
            details={"driver": "attached"},
        )


def decide_reason(reason: str | None, code: str, *, is_required: bool) -> tuple[str, str]:
    """The words and the code of a reason as they are kept."""
    words = (reason or "").strip()
    if is_required and not words:
        raise Refusal(
            "bad_request",
            "A reason is missing. Say in a sentence how you know; it stays with the settlement.",
            place="reason",
        )
    if len(words) > LONGEST_REASON:
        raise Refusal(
            "bad_request",
            f"The reason has {len(words)} characters and may have {LONGEST_REASON}; put the rest into a note.",
            place="reason",
        )
    if "\0" in words:
        raise Refusal("bad_request", "The reason holds the NUL character; leave it out.", place="reason")
    if code and code not in {known.value for known in ReasonCode}:
        raise Refusal(
            "bad_request",
            f"{code!r} is no reason code; the codes are {', '.join(known.value for known in ReasonCode)}.",
            place="reason_code",
        )
    return words, code


def decide_look_again(at: datetime, *, now: datetime) -> datetime:
    """When a case nobody could answer comes back to the inbox."""
    if at <= now:
        raise Refusal("bad_request", f"Look again at a time to come; {told(at)} has passed.", place="look_again_at")
    if at - now > LONGEST_WAIT:
        raise Refusal(
            "bad_request",
            f"A call may rest for at most {LONGEST_WAIT.days} days; choose a nearer time.",
            place="look_again_at",
        )
    return at


def told(at: datetime) -> str:
    """A moment in words: `12 March 2026, 14:33:10 UTC`."""
    moment = at.astimezone(UTC)
    return f"{moment.day} {moment:%B %Y, %H:%M:%S} UTC"
