"""Filling the queue: from the outbox, and from sweeps over calls. Rows decide what is due; safe to run twice and at once."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Exists, OuterRef

from salvor_admin.delivery import recipients, selectors
from salvor_admin.delivery.models import Delivery, Notice
from salvor_admin.delivery.recipients import Hearing
from salvor_admin.domain import mailing
from salvor_admin.domain.mailing import Kind, Mode
from salvor_admin.domain.rights import Role
from salvor_admin.ledger.models import Intent
from salvor_admin.outbox.models import Message
from salvor_admin.people.models import Workspace
from salvor_admin.web.clock import database_now

log = logging.getLogger(__name__)

MOST_MESSAGES: Final = 500
MOST_CALLS: Final = 2000
#: One sweep over a workspace's calls at a time, by these locks of the database; another finds nothing to add.
_LOCKS: Final = {Kind.CALL_WAITS: 5_701, Kind.CALL_OVERDUE: 5_702}
#: After so many mails about calls within one such span, the rest of the span comes as one.
STORM: Final = 10
STORM_SPAN: Final = timedelta(minutes=10)


def failure(problem: Exception) -> str:
    """What is kept of a failure: its kind and words, cut."""
    words = f"{type(problem).__name__}: {problem}".replace("\0", "")
    return words if len(words) <= 500 else words[:499] + "…"


# --- the outbox ------------------------------------------------------------------------------------------------------


def empty_outbox(*, most: int = MOST_MESSAGES) -> int:
    """Queues what each message means for each person; how many messages were dealt with."""
    done = 0
    for _ in range(most):
        turn = _next_message()
        if turn is None:
            break
        done += _spread(*turn)
    return done


@transaction.atomic
def _next_message() -> tuple[int, int] | None:
    """The next message that is due and how often it has been tried with this turn, which is counted before it is taken."""
    now = database_now()
    due = (
        Message.objects.select_for_update(skip_locked=True, of=("self",))
        .filter(delivered_at__isnull=True, parked_at__isnull=True, next_attempt_at__lte=now)
        .order_by("next_attempt_at", "id")
    )
    while (message := due.first()) is not None:
        if message.attempts < mailing.MOST_ATTEMPTS:
            message.attempts += 1
            message.next_attempt_at = now + mailing.pause(message.attempts)
            message.save(update_fields=["attempts", "next_attempt_at"])
            return message.pk, message.attempts
        message.parked_at = now
        message.last_error = message.last_error or "Each attempt ended its worker."
        message.save(update_fields=["parked_at", "last_error"])
        log.error("Message %s (%s) of the outbox is parked: %s", message.pk, message.topic, message.last_error)
    return None


def _spread(message_id: int, attempts: int) -> int:
    try:
        with transaction.atomic():
            # Waits for the row: whoever looked for a turn at the same moment may hold it for an instant, and passing it over
            # would put the message off by a whole pause.
            message = (
                Message.objects.select_for_update(of=("self",))
                .select_related("workspace")
                .filter(pk=message_id, attempts=attempts, delivered_at__isnull=True, parked_at__isnull=True)
                .first()
            )
            if message is None:
                return 0
            now = database_now()
            hearings = [(hearing, None) for hearing in recipients.of_message(message)]
            _queue(message.workspace, hearings, now=now, message=message)
            message.delivered_at = now
            message.last_error = ""
            message.save(update_fields=["delivered_at", "last_error"])
    except Exception as problem:
        # Whatever it was, it is this message's alone: the others must get their turn.
        log.warning("Message %s of the outbox could not be spread (attempt %s)", message_id, attempts, exc_info=True)
        Message.objects.filter(pk=message_id, attempts=attempts, delivered_at__isnull=True).update(
            last_error=failure(problem)
        )
        return 0
    return 1


# --- calls -----------------------------------------------------------------------------------------------------------


def notice_calls(*, most: int = MOST_CALLS) -> int:
    """Queues mail about the calls that began to wait, and those that became overdue, and nobody was told of yet."""
    kinds = (Kind.CALL_OVERDUE, Kind.CALL_WAITS)
    return sum(_notice(workspace, kind, most) for workspace in Workspace.objects.order_by("pk") for kind in kinds)


@transaction.atomic
def _notice(workspace: Workspace, kind: Kind, most: int) -> int:
    if not _is_alone(workspace, kind):
        return 0
    now = database_now()
    overdue_from = now - timedelta(seconds=workspace.answer_seconds)
    until = now if kind is Kind.CALL_WAITS else overdue_from
    known = Notice.objects.filter(intent=OuterRef("pk"), kind=kind.value, since=OuterRef("waits_at"))
    fresh = list(
        Intent.objects.filter(
            ~Exists(known),
            workspace_id=workspace.pk,
            standing="open",
            waits_at__lte=until,
        )
        .order_by("waits_at", "id")
        .only("id", "waits_at")[:most]
    )
    notices = Notice.objects.bulk_create(
        [
            Notice(workspace=workspace, intent_id=intent.pk, kind=kind.value, since=intent.waits_at, noticed_at=now)
            for intent in fresh
        ]
    )
    heard = _hearing_of_calls(workspace, kind, now)
    hearings = [
        (Hearing(person_id, kind, str(notice.intent_id)), notice)
        for notice in notices
        # What is overdue already is told as such.
        if kind is Kind.CALL_OVERDUE or notice.since > overdue_from
        for person_id in sorted(heard)
    ]
    _queue(workspace, hearings, now=now, stormed={person for person, number in heard.items() if number >= STORM})
    return len(notices)


def _is_alone(workspace: Workspace, kind: Kind) -> bool:
    """Whether no other sweep is at these calls until this transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [_LOCKS[kind], workspace.pk])
        return bool(cursor.fetchone()[0])


def _hearing_of_calls(workspace: Workspace, kind: Kind, now: datetime) -> dict[int, int]:
    """Who hears of calls here, each with how much they heard of late. An overdue call escalates to the admins."""
    people = recipients.members(workspace.pk, Role.SETTLER)
    if kind is Kind.CALL_OVERDUE or not people:
        people |= recipients.members(workspace.pk, Role.ADMIN)
    late = Delivery.objects.filter(
        workspace=workspace, person__in=people, notice__isnull=False, created_at__gt=now - STORM_SPAN
    )
    heard = dict(late.values_list("person_id").annotate(number=Count("id")))
    return {person_id: heard.get(person_id, 0) for person_id in people}


# --- rows ------------------------------------------------------------------------------------------------------------


def _queue(
    workspace: Workspace,
    hearings: Sequence[tuple[Hearing, Notice | None]],
    *,
    now: datetime,
    message: Message | None = None,
    stormed: Collection[int] = (),
) -> None:
    choices = selectors.choices_of(workspace.pk, [hearing.person_id for hearing, _ in hearings])
    rows = []
    for hearing, notice in hearings:
        choice = choices[hearing.person_id]
        mode = mailing.mode_of(hearing.kind, choice.modes)
        if mode is Mode.OFF or not choice.address:
            continue
        rows.append(
            Delivery(
                workspace=workspace,
                person_id=hearing.person_id,
                kind=hearing.kind.value,
                mode=mode.value,
                message=message,
                notice=notice,
                subject_id=hearing.subject_id,
                created_at=now,
                next_attempt_at=_due_at(mode, now, is_storm=hearing.person_id in stormed),
            )
        )
    Delivery.objects.bulk_create(rows, ignore_conflicts=True, batch_size=1000)


def _due_at(mode: Mode, now: datetime, *, is_storm: bool) -> datetime:
    if mode is Mode.DIGEST:
        return mailing.next_digest(now, hour=settings.DIGEST_HOUR)
    return mailing.next_slot(now, STORM_SPAN) if is_storm else now
