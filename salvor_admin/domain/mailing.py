"""What people hear by mail, how soon, and when a mail that could not be sent is tried again (design 5 and 6.2)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final


class Mode(StrEnum):
    """How soon somebody wants to hear."""

    AT_ONCE = "at_once"
    DIGEST = "digest"
    OFF = "off"


class Group(StrEnum):
    """Kinds that a person chooses a mode for together."""

    OVERDUE = "overdue"
    WAITING = "waiting"
    REVOKED = "revoked"
    ASKED = "asked"
    OUTCOMES = "outcomes"
    ANSWERED = "answered"
    ACCESS = "access"


class Kind(StrEnum):
    """What a mail is about, the most pressing first."""

    CALL_OVERDUE = "call_overdue"
    CALL_HANDED_OVER = "call_handed_over"
    CALL_WAITS = "call_waits"
    LOOK_BACK_ASKED = "look_back_asked"
    REVOKED = "revoked"
    REVIEW_ASKED = "review_asked"
    PUBLISHING_ASKED = "publishing_asked"
    STALED = "staled"
    VERDICT_GIVEN = "verdict_given"
    WITHDRAWN = "withdrawn"
    PUBLISHED = "published"
    CALL_ANSWERED = "call_answered"
    TOKEN_MADE = "token_made"  # noqa: S105 - the name of a kind


class Standing(StrEnum):
    """What became of a delivery."""

    QUEUED = "queued"
    SENT = "sent"
    DROPPED = "dropped"
    """Nobody needed it any more when its turn came."""
    PARKED = "parked"
    """Tried as often as it is tried by itself; an admin may have it tried again."""


GROUP_OF: Final[Mapping[Kind, Group]] = {
    Kind.CALL_OVERDUE: Group.OVERDUE,
    Kind.CALL_HANDED_OVER: Group.OVERDUE,
    Kind.CALL_WAITS: Group.WAITING,
    Kind.LOOK_BACK_ASKED: Group.REVOKED,
    Kind.REVOKED: Group.REVOKED,
    Kind.REVIEW_ASKED: Group.ASKED,
    Kind.PUBLISHING_ASKED: Group.ASKED,
    Kind.STALED: Group.OUTCOMES,
    Kind.VERDICT_GIVEN: Group.OUTCOMES,
    Kind.WITHDRAWN: Group.OUTCOMES,
    Kind.PUBLISHED: Group.OUTCOMES,
    Kind.CALL_ANSWERED: Group.ANSWERED,
    Kind.TOKEN_MADE: Group.ACCESS,
}
#: At once where somebody must act or authority changed; by digest where it is only good to know.
DEFAULTS: Final[Mapping[Group, Mode]] = {
    Group.OVERDUE: Mode.AT_ONCE,
    Group.WAITING: Mode.AT_ONCE,
    Group.REVOKED: Mode.AT_ONCE,
    Group.ASKED: Mode.AT_ONCE,
    Group.OUTCOMES: Mode.AT_ONCE,
    Group.ANSWERED: Mode.DIGEST,
}
#: Kinds that ask somebody to act.
ASKING: Final = frozenset(
    {
        Kind.CALL_OVERDUE,
        Kind.CALL_HANDED_OVER,
        Kind.CALL_WAITS,
        Kind.LOOK_BACK_ASKED,
        Kind.REVIEW_ASKED,
        Kind.PUBLISHING_ASKED,
    }
)

MOST_ATTEMPTS: Final = 12
FIRST_PAUSE: Final = timedelta(minutes=1)
LONGEST_PAUSE: Final = timedelta(hours=6)


def mode_of(kind: Kind, chosen: Mapping[Group, Mode]) -> Mode:
    """How soon somebody with these choices hears of this kind. News about access to them is never put off."""
    group = GROUP_OF[kind]
    if group is Group.ACCESS:
        return Mode.AT_ONCE
    return chosen.get(group, DEFAULTS[group])


def pause(attempts: int) -> timedelta:
    """How long to wait after so many attempts: twice as long each time, up to a limit."""
    doublings: int = 1 << min(max(attempts - 1, 0), 20)
    return min(FIRST_PAUSE * doublings, LONGEST_PAUSE)


def next_digest(now: datetime, *, hour: int) -> datetime:
    """The next time that digests are due: once a day, at this hour in UTC."""
    today = now.astimezone(UTC).replace(hour=hour, minute=0, second=0, microsecond=0)
    return today if today > now else today + timedelta(days=1)


def next_slot(now: datetime, span: timedelta) -> datetime:
    """The next moment that is a whole number of spans after midnight in UTC."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + ((now - midnight) // span + 1) * span
