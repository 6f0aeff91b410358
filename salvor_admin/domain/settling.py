"""The human side of a call: states of a case, outcomes, and who may answer (design sections 5 and 11)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

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


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """Who holds a case and until when; `lapses_at` and `now` are the database's time."""

    holder_id: int
    holder_name: str
    lapses_at: datetime


def standing_claim(claim: ClaimFacts | None, *, now: datetime) -> ClaimFacts | None:
    """The claim when it still holds; a lapse is computed, never stored."""
    return claim if claim is not None and claim.lapses_at > now else None


def decide_claim(
    claim: ClaimFacts | None, *, person_id: int, decided: str | None, now: datetime, hold_for: timedelta
) -> datetime:
    """When the claim will lapse, or the refusal that names who holds the case."""
    refuse_decided(decided)
    refuse_foreign(claim, person_id=person_id, now=now, verb="claimed")
    return now + hold_for


def decide_release(claim: ClaimFacts | None, *, person_id: int, now: datetime) -> None:
    """Only the holder hands a case back."""
    held = standing_claim(claim, now=now)
    if held is None or held.holder_id != person_id:
        raise Refusal(
            "wrong_state",
            "You do not hold this case"
            + (f"; {held.holder_name} does" if held else "")
            + ", so there is nothing to release.",
            details={"holder": held.holder_name if held else None},
        )


def refuse_decided(decided: str | None) -> None:
    """Raises when the call is already closed, saying how."""
    if decided is not None:
        raise Refusal(
            "wrong_state",
            f"This call is already {decided.replace('_', ' ')}; nothing was changed. Reload to see what was recorded.",
            details={"state": decided},
        )


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
