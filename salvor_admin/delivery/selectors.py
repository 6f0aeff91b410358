"""What people chose to hear, and what was sent to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from salvor_admin.delivery.models import Delivery, MailPreference
from salvor_admin.domain.mailing import Group, Kind, Mode, Standing
from salvor_admin.outbox.models import Message
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Membership

LATEST_SHOWN: Final = 20
#: Counting stops here.
COUNTED_TO: Final = 100


@dataclass(frozen=True, slots=True)
class Choice:
    """Where and how soon one person hears; an empty address: not at all."""

    address: str
    modes: Mapping[Group, Mode]


NOT_HERE: Final = Choice("", {})
"""What somebody chose who is deactivated, or of another workspace: they hear nothing."""


def choices_of(workspace_id: int, person_ids: Iterable[int]) -> dict[int, Choice]:
    """What each of these people chose here, in two queries; `NOT_HERE` for whoever has no access."""
    wanted = set(person_ids)
    members = Membership.objects.filter(
        workspace_id=workspace_id, person_id__in=wanted, person__is_active=True
    ).values_list("person_id", "person__email")
    chosen = {
        row.person_id: row for row in MailPreference.objects.filter(workspace_id=workspace_id, person_id__in=wanted)
    }
    found = dict.fromkeys(wanted, NOT_HERE)
    for person_id, email in members:
        row = chosen.get(person_id)
        found[person_id] = Choice((row.address if row else "") or email, row.modes if row else {})
    return found


def preference_of(actor: Actor) -> MailPreference:
    """The actor's own choices, or the defaults unsaved."""
    found = MailPreference.objects.filter(workspace_id=actor.workspace_id, person_id=actor.person_id).first()
    return found or MailPreference(workspace=actor.workspace, person=actor.person)


@dataclass(frozen=True, slots=True)
class SentRow:
    """One delivery as its person sees it."""

    kind: str
    standing: str
    created_at: datetime
    closed_at: datetime | None
    next_attempt_at: datetime
    note: str


def latest_of(actor: Actor) -> list[SentRow]:
    """What the actor was told here of late, newest first."""
    rows = Delivery.objects.filter(person_id=actor.person_id, workspace_id=actor.workspace_id).order_by("-id")
    return [
        SentRow(
            kind=KIND_WORDS[Kind(row.kind)],
            standing=row.standing,
            created_at=row.created_at,
            closed_at=row.closed_at,
            next_attempt_at=row.next_attempt_at,
            # How a mail server failed is for those who look after it.
            note=row.last_error if row.standing == Standing.DROPPED else "",
        )
        for row in rows[:LATEST_SHOWN]
    ]


@dataclass(frozen=True, slots=True)
class Parked:
    """What is no longer tried by itself in a workspace: how much, and what the newest failed with."""

    number: int
    more: bool
    reason: str


def parked(workspace_id: int) -> Parked | None:
    """The deliveries and messages that are parked; None when there are none."""
    deliveries = Delivery.objects.filter(workspace_id=workspace_id, standing=Standing.PARKED.value)
    messages = Message.objects.filter(workspace_id=workspace_id, parked_at__isnull=False, delivered_at__isnull=True)
    reasons = [
        *deliveries.order_by("-id").values_list("last_error", flat=True)[: COUNTED_TO + 1],
        *messages.order_by("-id").values_list("last_error", flat=True)[: COUNTED_TO + 1],
    ]
    if not reasons:
        return None
    return Parked(min(len(reasons), COUNTED_TO), len(reasons) > COUNTED_TO, reasons[0])


KIND_WORDS: Final = {
    Kind.CALL_OVERDUE: "A call became overdue",
    Kind.CALL_HANDED_OVER: "A case was handed to you",
    Kind.CALL_WAITS: "A call began to wait",
    Kind.LOOK_BACK_ASKED: "A revoke to look back at",
    Kind.REVOKED: "A document was revoked",
    Kind.REVIEW_ASKED: "A change to review",
    Kind.PUBLISHING_ASKED: "A change to publish",
    Kind.STALED: "A change became stale",
    Kind.VERDICT_GIVEN: "A verdict was given",
    Kind.WITHDRAWN: "A change was withdrawn",
    Kind.PUBLISHED: "A change went live",
    Kind.CALL_ANSWERED: "A call was answered",
    Kind.TOKEN_MADE: "A token was made that speaks for you",
}
