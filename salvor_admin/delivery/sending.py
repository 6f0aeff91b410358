"""Emptying the queue: one mail for one thing at once, one for many by digest. Exactly one worker sends each row."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from smtplib import SMTPException, SMTPServerDisconnected
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.db.models import QuerySet

from salvor_admin.delivery import call_letters, letters, review_letters, selectors
from salvor_admin.delivery.letters import Letter, Mail, Moot
from salvor_admin.delivery.models import Delivery
from salvor_admin.delivery.queueing import failure
from salvor_admin.domain import mailing
from salvor_admin.domain.mailing import Kind, Mode, Standing
from salvor_admin.people.models import Workspace
from salvor_admin.web.clock import database_now

log = logging.getLogger(__name__)

MOST_MAILS: Final = 200
#: So many mails at once still come one by one; more come as one.
FEW: Final = 5
MOST_IN_ONE: Final = 1000
#: A worker gives its place to others after so many seconds, well before it would be ended.
LONGEST_ROUND: Final = 60.0
#: What failed so often goes alone, so that it takes nothing else down with it.
ALONE_FROM: Final = 6

LETTERS: Final[dict[Kind, Callable[[Delivery, datetime], Letter]]] = {
    Kind.CALL_OVERDUE: call_letters.open_call,
    Kind.CALL_HANDED_OVER: call_letters.handed_over,
    Kind.CALL_WAITS: call_letters.open_call,
    Kind.LOOK_BACK_ASKED: review_letters.revoked,
    Kind.REVOKED: review_letters.revoked,
    Kind.REVIEW_ASKED: review_letters.review_asked,
    Kind.PUBLISHING_ASKED: review_letters.publishing_asked,
    Kind.STALED: review_letters.staled,
    Kind.VERDICT_GIVEN: review_letters.verdict_given,
    Kind.WITHDRAWN: review_letters.withdrawn,
    Kind.PUBLISHED: review_letters.published,
    Kind.CALL_ANSWERED: call_letters.answered,
    Kind.TOKEN_MADE: review_letters.token_made,
}


class _End(Enum):
    """How a turn ended."""

    SENT = auto()
    NOTHING_SENT = auto()
    SERVER_GONE = auto()


@dataclass(frozen=True, slots=True)
class _Turn:
    """Rows of one person that this worker took, by id with the attempt that was counted for each."""

    attempts: dict[int, int]


def send_mail(*, most: int = MOST_MAILS) -> int:
    """Sends what is due; how many mails went out. While the mail server is away, nothing is counted against a row."""
    if not _due(database_now()).exists():
        return 0
    connection = get_connection()
    try:
        connection.open()
    except (OSError, SMTPException) as problem:
        log.warning("The mail server cannot be reached; the queue waits. %s", failure(problem))
        return 0
    sent = 0
    try:
        begun = time.monotonic()
        for _ in range(most):
            turn = _take_turn() if time.monotonic() - begun < LONGEST_ROUND else None
            if turn is None:
                break
            end = _send(turn, connection)
            sent += end is _End.SENT
            if end is _End.SERVER_GONE:
                break
    finally:
        connection.close()
    return sent


def _due(now: datetime) -> QuerySet[Delivery]:
    return Delivery.objects.filter(standing=Standing.QUEUED.value, next_attempt_at__lte=now)


@transaction.atomic
def _take_turn() -> _Turn | None:
    """Takes what is due for the person who has waited longest. Attempts are counted here, before anything is tried."""
    now = database_now()
    due = _due(now).select_for_update(skip_locked=True, of=("self",)).order_by("next_attempt_at", "id")
    while (first := due.first()) is not None:
        if first.attempts >= mailing.MOST_ATTEMPTS:
            _park(first, now)
            continue
        rows = [first]
        if first.attempts < ALONE_FROM:
            alike = due.filter(
                workspace_id=first.workspace_id,
                person_id=first.person_id,
                mode=first.mode,
                attempts__lt=ALONE_FROM,
            ).exclude(pk=first.pk)
            others = list(alike[: MOST_IN_ONE - 1])
            if first.mode == Mode.DIGEST or len(others) >= FEW:
                rows += others
        for row in rows:
            row.attempts += 1
            row.next_attempt_at = now + mailing.pause(row.attempts)
        Delivery.objects.bulk_update(rows, ["attempts", "next_attempt_at"])
        return _Turn({row.pk: row.attempts for row in rows})
    return None


def _park(row: Delivery, now: datetime) -> None:
    words = row.last_error or "Each attempt ended its worker."
    _close([row], Standing.PARKED, now, words)
    log.error("Delivery %s (%s) is parked: %s", row.pk, row.kind, words)


def _close(rows: Sequence[Delivery], standing: Standing, now: datetime, words: str = "") -> None:
    Delivery.objects.filter(pk__in=[row.pk for row in rows]).update(
        standing=standing.value, closed_at=now, last_error=words[:500]
    )


@transaction.atomic
def _send(turn: _Turn, connection: BaseEmailBackend) -> _End:
    """Writes and sends one mail while its rows are locked: nobody else sends them, and what was sent is marked so."""
    # Waits for its rows: whoever looked for a turn at the same moment may hold them for an instant.
    taken = (
        Delivery.objects.select_for_update(of=("self",))
        .select_related("workspace", "person", "message", "notice__intent__run", "notice__intent__runtime")
        .filter(pk__in=list(turn.attempts), standing=Standing.QUEUED.value)
        .order_by("id")
    )
    rows = [row for row in taken if row.attempts == turn.attempts[row.pk]]
    if not rows:
        return _End.NOTHING_SENT
    now = database_now()
    person_id, workspace = rows[0].person_id, rows[0].workspace
    choice = selectors.choices_of(workspace.pk, [person_id])[person_id]
    wanted = [row for row in rows if mailing.mode_of(Kind(row.kind), choice.modes) is not Mode.OFF]
    if not choice.address:
        _close(rows, Standing.DROPPED, now, "No access any more, or no address to write to.")
        return _End.NOTHING_SENT
    _close([row for row in rows if row not in wanted], Standing.DROPPED, now, "Switched off before this was sent.")
    told, written = _written(wanted, now)
    if not written:
        return _End.NOTHING_SENT
    mail = _mail(written, workspace, unlisted=len(told) - len(written), mode=Mode(rows[0].mode))
    try:
        _hand_over(mail, to=choice.address, first=told[0], connection=connection)
    except Exception as problem:
        # Whatever it was, it is these rows' alone: the others must get their turn.
        log.warning("Deliveries %s could not be sent", [row.pk for row in told[:20]], exc_info=True)
        _note(told, failure(problem))
        return _End.SERVER_GONE if _is_about_the_server(problem) else _End.NOTHING_SENT
    _close(told, Standing.SENT, now)
    return _End.SENT


def _is_about_the_server(problem: Exception) -> bool:
    # Each failure of SMTP is an `OSError` as well, and most of them are about one mail.
    return isinstance(problem, SMTPServerDisconnected) or (
        isinstance(problem, OSError) and not isinstance(problem, SMTPException)
    )


def _note(rows: Sequence[Delivery], words: str) -> None:
    Delivery.objects.filter(pk__in=[row.pk for row in rows]).update(last_error=words)


def _written(rows: Sequence[Delivery], now: datetime) -> tuple[list[Delivery], list[Letter]]:
    """The rows that are to be told and the letters of those that are listed; moot rows are closed, odd ones noted."""
    told: list[Delivery] = []
    written: list[Letter] = []
    moot: dict[str, list[Delivery]] = {}
    for row in rows:
        if len(written) >= letters.LONGEST_LIST:
            told.append(row)
            continue
        try:
            with transaction.atomic():
                letter = LETTERS[Kind(row.kind)](row, now)
        except Moot as reason:
            moot.setdefault(str(reason), []).append(row)
        except Exception as problem:
            log.warning("Delivery %s could not be written", row.pk, exc_info=True)
            _note([row], failure(problem))
        else:
            told.append(row)
            written.append(letter)
    for words, dropped in moot.items():
        _close(dropped, Standing.DROPPED, now, words)
    return told, written


def _mail(written: list[Letter], workspace: Workspace, *, unlisted: int, mode: Mode) -> Mail:
    if len(written) == 1 and not unlisted and mode is Mode.AT_ONCE:
        return letters.single(written[0], workspace)
    return letters.bundle(written, workspace, unlisted=unlisted, is_digest=mode is Mode.DIGEST)


def _hand_over(mail: Mail, *, to: str, first: Delivery, connection: BaseEmailBackend) -> None:
    host = urlsplit(settings.PUBLIC_URL).hostname or "localhost"
    # The same name at every attempt: a server that took it and was not heard can tell that it has it.
    name = f"<{first.created_at:%Y%m%d%H%M%S%f}.{first.pk}@{host}>"
    headers = {"Message-ID": name, "Auto-Submitted": "auto-generated"}
    EmailMessage(mail.subject, mail.body, to=[to], headers=headers, connection=connection).send()
