"""From the queue to the mail server: one by one or as one, tried again, parked, and dropped when nobody needs it."""

from __future__ import annotations

import smtplib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from unittest.mock import Mock

import pytest
from django.conf import settings
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db.models import F

from salvor_admin.delivery import call_letters, queueing, sending, services
from salvor_admin.delivery.models import Delivery, Notice
from salvor_admin.domain.mailing import DEFAULTS, MOST_ATTEMPTS, Group, Kind, Mode
from salvor_admin.domain.settling import Outcome
from salvor_admin.ledger.models import Intent
from salvor_admin.people.access import Actor
from salvor_admin.settlement import services as settlement
from salvor_admin.web.clock import database_now
from tests.delivery.factories import a_colleague, delivered, later, subjects
from tests.people.factories import Cast
from tests.reviews.factories import a_submitted_change
from tests.settlement.factories import OUTPUT, a_tool, a_waiting_call

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reachable")]

REFUSED = smtplib.SMTPDataError(554, b"no")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mock]:
    """The mail server of this test; `side_effect` says how it fails."""
    taken = EmailBackend.send_messages
    standing = Mock(side_effect=lambda messages: taken(EmailBackend(), messages))
    monkeypatch.setattr(EmailBackend, "send_messages", lambda self, messages: standing(messages))
    yield standing


def queue_a_review(ada: Actor) -> Delivery:
    a_submitted_change(author=ada)
    queueing.empty_outbox()
    return Delivery.objects.get(kind="review_asked")


def queue_calls(cast: Cast, number: int) -> list[Intent]:
    """So many calls that wait, each queued for Noor, and nothing else."""
    a_tool(cast)
    delivered()
    calls = [a_waiting_call(cast) for _ in range(number)]
    queueing.notice_calls()
    return calls


def prefer(actor: Actor, **modes: Mode) -> None:
    services.choose_mail(actor=actor, address="", modes={Group(name): mode for name, mode in modes.items()})


def test_what_is_sent_is_marked_and_not_sent_again(ada: Actor) -> None:
    row = queue_a_review(ada)
    assert (sending.send_mail(), sending.send_mail()) == (1, 0)
    row.refresh_from_db()
    assert (row.standing, row.attempts, row.last_error) == ("sent", 1, "")
    assert row.closed_at is not None
    assert [message.to for message in mail.outbox] == [["grace@example.test"]]


def test_a_few_at_once_come_one_by_one(reachable: Cast) -> None:
    queue_calls(reachable, sending.FEW)
    mail.outbox.clear()
    assert sending.send_mail() == sending.FEW


def test_many_at_once_come_as_one(reachable: Cast) -> None:
    calls = queue_calls(reachable, sending.FEW + 1)
    mail.outbox.clear()
    assert sending.send_mail() == 1
    (message,) = mail.outbox
    assert message.subject == "Many at once: 6 things, 6 to act on (payments-eu)"
    assert all(f"/w/payments-eu/calls/{call.pk}/" in message.body for call in calls)
    assert set(Delivery.objects.values_list("standing", flat=True)) == {"sent"}


def test_what_one_mail_cannot_list_it_counts(reachable: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("salvor_admin.delivery.letters.LONGEST_LIST", 2)
    queue_calls(reachable, 7)
    mail.outbox.clear()
    sending.send_mail()
    (message,) = mail.outbox
    assert message.subject == "Many at once: 7 things, at least 2 to act on (payments-eu)"
    assert "And 5 more: http://127.0.0.1:8000/w/payments-eu/\n" in message.body


def test_a_digest_is_one_mail_at_its_hour_and_not_before(reachable: Cast, noor: Actor) -> None:
    prefer(noor, waiting=Mode.DIGEST)
    queue_calls(reachable, 2)
    assert sending.send_mail() == 0
    assert {row.next_attempt_at.astimezone(UTC).hour for row in Delivery.objects.filter(mode="digest")} == {
        settings.DIGEST_HOUR
    }
    later(timedelta(days=1))
    mail.outbox.clear()
    assert sending.send_mail() == 1
    assert mail.outbox[0].subject == "Digest: 2 things, 2 to act on (payments-eu)"


def test_a_digest_of_one_thing_is_a_digest_still(reachable: Cast, noor: Actor) -> None:
    prefer(noor, waiting=Mode.DIGEST)
    queue_calls(reachable, 1)
    later(timedelta(days=1))
    mail.outbox.clear()
    sending.send_mail()
    assert mail.outbox[0].subject == "Digest: 1 thing, 1 to act on (payments-eu)"


def test_a_digest_leaves_out_what_was_answered_meanwhile(reachable: Cast, noor: Actor, root: Actor) -> None:
    prefer(noor, waiting=Mode.DIGEST)
    nils = a_colleague(root, "nils", "settler")
    prefer(nils, waiting=Mode.OFF)
    first, _ = queue_calls(reachable, 2)
    settlement.settle_call(
        intent_id=first.pk, actor=nils, outcome=Outcome.LANDED, output=OUTPUT, reason="Seen at the provider."
    )
    later(timedelta(days=1))
    mail.outbox.clear()
    sending.send_mail()
    assert mail.outbox[0].subject == "Digest: 1 thing, 1 to act on (payments-eu)"
    dropped = Delivery.objects.get(standing="dropped")
    assert dropped.last_error == "The call was closed before this was sent."


def test_what_is_off_is_not_queued(reachable: Cast, noor: Actor) -> None:
    prefer(noor, waiting=Mode.OFF)
    queue_calls(reachable, 1)
    assert not Delivery.objects.filter(person=noor.person).exists()


def test_what_is_switched_off_while_it_was_queued_is_dropped(ada: Actor, grace: Actor) -> None:
    row = queue_a_review(ada)
    prefer(grace, asked=Mode.OFF)
    assert sending.send_mail() == 0
    row.refresh_from_db()
    assert (row.standing, row.last_error) == ("dropped", "Switched off before this was sent.")


def test_an_address_of_ones_own_choice_counts_in_its_workspace(ada: Actor, grace: Actor) -> None:
    services.choose_mail(actor=grace, address="grace@reviews.test", modes={})
    queue_a_review(ada)
    sending.send_mail()
    assert mail.outbox[0].to == ["grace@reviews.test"]


def test_while_the_server_cannot_be_reached_nothing_is_counted_and_nothing_lost(
    ada: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = queue_a_review(ada)
    for problem in (ConnectionRefusedError(111, "refused"), TimeoutError(), smtplib.SMTPConnectError(421, b"busy")):
        monkeypatch.setattr(EmailBackend, "open", Mock(side_effect=problem))
        assert sending.send_mail() == 0
    row.refresh_from_db()
    assert (row.standing, row.attempts) == ("queued", 0)
    monkeypatch.undo()
    assert sending.send_mail() == 1


def test_no_connection_is_opened_when_nothing_is_due(reachable: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Mock()
    monkeypatch.setattr(EmailBackend, "open", opened)
    assert sending.send_mail() == 0
    opened.assert_not_called()


def test_a_decision_does_not_wait_for_mail(ada: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmailBackend, "open", Mock(side_effect=TimeoutError))
    monkeypatch.setattr("celery.app.base.Celery.send_task", Mock(side_effect=ConnectionError))
    assert a_submitted_change(author=ada).state == "in_review"


def test_a_server_that_goes_away_ends_the_round(ada: Actor, root: Actor, server: Mock) -> None:
    a_colleague(root, "rita", "reviewer")
    a_submitted_change(author=ada)
    queueing.empty_outbox()
    server.side_effect = smtplib.SMTPServerDisconnected("gone")
    assert sending.send_mail() == 0
    assert server.call_count == 1
    assert sorted(Delivery.objects.values_list("standing", "attempts")) == [("queued", 0), ("queued", 1)]


def test_a_mail_that_is_refused_does_not_stop_the_others(ada: Actor, root: Actor, server: Mock) -> None:
    a_colleague(root, "rita", "reviewer")
    a_submitted_change(author=ada)
    queueing.empty_outbox()
    server.side_effect = [REFUSED, 1]
    assert sending.send_mail() == 1
    assert sorted(Delivery.objects.values_list("standing", flat=True)) == ["queued", "sent"]


def test_a_refused_mail_waits_longer_each_time_and_is_then_parked_with_the_reason(ada: Actor, server: Mock) -> None:
    row = queue_a_review(ada)
    server.side_effect = REFUSED
    pauses = []
    for _ in range(MOST_ATTEMPTS):
        sending.send_mail()
        row.refresh_from_db()
        pauses.append(round((row.next_attempt_at - database_now()) / timedelta(minutes=1)))
        later(timedelta(hours=6))
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360, 360]
    assert row.standing == "queued"
    assert sending.send_mail() == 0
    row.refresh_from_db()
    assert (row.standing, row.attempts) == ("parked", MOST_ATTEMPTS)
    assert row.last_error == "SMTPDataError: (554, b'no')"
    assert server.call_count == MOST_ATTEMPTS


def test_a_mail_that_ends_its_worker_each_time_is_parked_too(ada: Actor, server: Mock) -> None:
    row = queue_a_review(ada)
    server.side_effect = SystemExit
    for _ in range(MOST_ATTEMPTS):
        with pytest.raises(SystemExit):
            sending.send_mail()
        later(timedelta(hours=6))
    sending.send_mail()
    row.refresh_from_db()
    assert (row.standing, row.last_error) == ("parked", "Each attempt ended its worker.")
    assert server.call_count == MOST_ATTEMPTS


def test_each_attempt_at_a_mail_bears_the_same_name(ada: Actor, server: Mock) -> None:
    queue_a_review(ada)
    names = []

    def refused(messages: list[mail.EmailMessage]) -> None:
        names.extend(message.message()["Message-ID"] for message in messages)
        raise REFUSED

    server.side_effect = refused
    for _ in range(3):
        sending.send_mail()
        later(timedelta(hours=6))
    assert len(names) == 3 and len(set(names)) == 1


def test_a_thing_that_cannot_be_written_does_not_keep_a_digest_back(
    reachable: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = queue_calls(reachable, sending.FEW + 2)
    mail.outbox.clear()

    def odd(delivery: Delivery, now: datetime) -> object:
        if delivery.subject_id == str(calls[0].pk):
            raise ValueError("cannot be told")
        return call_letters.open_call(delivery, now)

    monkeypatch.setitem(sending.LETTERS, Kind.CALL_WAITS, odd)  # type: ignore[arg-type]
    assert sending.send_mail() == 1
    assert mail.outbox[0].subject == "Many at once: 6 things, 6 to act on (payments-eu)"
    left = Delivery.objects.get(standing="queued")
    assert (left.subject_id, left.attempts) == (str(calls[0].pk), 1)
    assert left.last_error == "ValueError: cannot be told"


def test_what_failed_often_goes_alone(reachable: Cast, server: Mock) -> None:
    queue_calls(reachable, sending.FEW + 1)
    server.reset_mock()
    server.side_effect = REFUSED
    for _ in range(sending.ALONE_FROM):
        assert sending.send_mail() == 0
        later(timedelta(hours=6))
    assert server.call_count == sending.ALONE_FROM
    server.side_effect = [REFUSED] + [1] * sending.FEW
    assert sending.send_mail() == sending.FEW
    assert Delivery.objects.filter(standing="queued", kind="call_waits").count() == 1


def test_a_call_that_is_told_as_overdue_is_not_told_as_waiting_too(reachable: Cast, noor: Actor) -> None:
    (call,) = queue_calls(reachable, 1)
    Delivery.objects.filter(kind="call_waits").update(next_attempt_at=F("next_attempt_at") + timedelta(hours=5))
    Intent.objects.update(waits_at=call.waits_at - timedelta(hours=5))
    Notice.objects.update(since=F("since") - timedelta(hours=5))
    queueing.notice_calls()
    later(timedelta(hours=5))
    mail.outbox.clear()
    assert sending.send_mail() == 2
    assert sorted((message.to[0], message.subject) for message in mail.outbox) == [
        ("noor@example.test", "Overdue: refund_card, for 5 h (payments-eu)"),
        ("root@example.test", "Overdue: refund_card, for 5 h (payments-eu)"),
    ]


def test_two_workspaces_come_in_mails_of_their_own(reachable: Cast, ada: Actor, grace: Actor, kim: Actor) -> None:
    a_submitted_change(author=ada)
    a_submitted_change(author=kim, name="move_crate")
    type(kim.person).objects.filter(pk=kim.person_id).update(email="grace@example.test")
    assert subjects() == {"grace": ["Asked to review: refund_card, submitted under 1 min ago (payments-eu)"]}


def test_parked_mail_is_tried_again_when_an_admin_says_so(ada: Actor, root: Actor, server: Mock) -> None:
    row = queue_a_review(ada)
    server.side_effect = REFUSED
    for _ in range(MOST_ATTEMPTS + 1):
        sending.send_mail()
        later(timedelta(hours=6))
    server.side_effect = None
    assert services.retry_parked(actor=root) == 1
    assert sending.send_mail() == 1
    row.refresh_from_db()
    assert (row.standing, row.attempts, row.last_error) == ("sent", 1, "")


def test_every_kind_has_its_letter() -> None:
    assert set(sending.LETTERS) == set(Kind)
    assert {group for group in Group if group is not Group.ACCESS} == set(DEFAULTS)
