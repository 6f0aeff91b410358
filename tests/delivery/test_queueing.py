"""From outbox and calls into the queue: counted, tried again, parked, and each thing queued once."""

from __future__ import annotations

from datetime import timedelta
from unittest.mock import Mock

import pytest
from celery import current_app
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from salvor_admin.celery import app
from salvor_admin.delivery import queueing, recipients, tasks
from salvor_admin.delivery.models import Delivery, Notice
from salvor_admin.domain.mailing import MOST_ATTEMPTS
from salvor_admin.ledger.models import Intent
from salvor_admin.outbox.models import Message
from salvor_admin.people.access import Actor
from salvor_admin.settlement import services as settlement
from salvor_admin.web.clock import database_now
from tests.delivery.factories import a_colleague
from tests.people.factories import Cast
from tests.reviews.factories import a_submitted_change
from tests.settlement.factories import a_driver, a_tool, a_waiting_call, the_runtime

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reachable")]


def pause_over() -> None:
    Message.objects.update(next_attempt_at=F("next_attempt_at") - timedelta(hours=6))


def a_poison_message(actor: Actor) -> Message:
    """A message about something that is not there, older than all others."""
    return Message.objects.create(
        workspace=actor.workspace,
        topic="change_request.submitted",
        subject_kind="change_request",
        subject_id="00000000-0000-4000-8000-000000000000",
        created_at=database_now(),
        next_attempt_at=database_now() - timedelta(days=1),
    )


def test_a_message_is_queued_once_however_often_the_sweep_runs(ada: Actor) -> None:
    a_submitted_change(author=ada)
    assert (queueing.empty_outbox(), queueing.empty_outbox()) == (1, 0)
    message = Message.objects.get()
    assert message.delivered_at is not None and message.attempts == 1
    assert Delivery.objects.count() == 1


def test_a_message_that_nobody_hears_of_is_delivered_all_the_same(reachable: Cast, noor: Actor) -> None:
    a_tool(reachable)
    call = a_waiting_call(reachable)
    queueing.empty_outbox()
    settlement.claim_case(intent_id=call.pk, actor=noor)
    assert queueing.empty_outbox() == 1
    assert not Message.objects.filter(delivered_at__isnull=True).exists()
    assert not Delivery.objects.filter(message__topic="case.claimed").exists()


def test_a_poison_message_does_not_stop_the_others(ada: Actor) -> None:
    poison = a_poison_message(ada)
    a_submitted_change(author=ada)
    assert queueing.empty_outbox() == 1
    poison.refresh_from_db()
    assert poison.delivered_at is None and poison.attempts == 1
    assert poison.last_error.startswith("DoesNotExist: ")
    assert Delivery.objects.get().person.username == "grace"


def test_a_message_waits_longer_after_each_attempt_and_is_then_parked_with_the_reason(ada: Actor) -> None:
    poison = a_poison_message(ada)
    pauses = []
    for _ in range(MOST_ATTEMPTS):
        queueing.empty_outbox()
        poison.refresh_from_db()
        pauses.append(round((poison.next_attempt_at - database_now()) / timedelta(minutes=1)))
        pause_over()
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360, 360]
    assert poison.parked_at is None
    queueing.empty_outbox()
    poison.refresh_from_db()
    assert poison.parked_at is not None and poison.attempts == MOST_ATTEMPTS
    assert poison.last_error.startswith("DoesNotExist: ")
    pause_over()
    assert queueing.empty_outbox() == 0


def test_a_message_that_ends_its_worker_each_time_is_parked_too(ada: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    a_submitted_change(author=ada)
    monkeypatch.setattr(recipients, "of_message", Mock(side_effect=SystemExit))
    for _ in range(MOST_ATTEMPTS):
        with pytest.raises(SystemExit):
            queueing.empty_outbox()
        pause_over()
    monkeypatch.undo()
    assert queueing.empty_outbox() == 0
    message = Message.objects.get()
    assert (message.attempts, message.last_error) == (MOST_ATTEMPTS, "Each attempt ended its worker.")
    assert message.parked_at is not None and not Delivery.objects.exists()


def test_a_failure_halfway_leaves_nothing_queued(ada: Actor, root: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    a_colleague(root, "rita", "reviewer")
    a_submitted_change(author=ada)
    create = Delivery.objects.bulk_create

    def broken(*args: object, **kwargs: object) -> None:
        create(*args, **kwargs)  # type: ignore[arg-type]
        raise RuntimeError("the wire was cut")

    monkeypatch.setattr(Delivery.objects, "bulk_create", broken)
    assert queueing.empty_outbox() == 0
    assert not Delivery.objects.exists()
    monkeypatch.undo()
    pause_over()
    assert queueing.empty_outbox() == 1
    assert Delivery.objects.count() == 2


def test_a_topic_without_a_rule_says_so(ada: Actor) -> None:
    message = a_poison_message(ada)
    Message.objects.update(topic="weather.changed")
    queueing.empty_outbox()
    message.refresh_from_db()
    assert message.last_error == "LookupError: no rule says who hears of weather.changed"


def test_what_is_kept_of_a_failure_is_cut_and_holds_no_nul() -> None:
    kept = queueing.failure(ValueError("a\0b" + "x" * 1000))
    assert kept.startswith("ValueError: abxxx") and len(kept) == 500


def test_a_call_is_noticed_once_for_each_time_it_waits(reachable: Cast, noor: Actor) -> None:
    a_tool(reachable)
    call = a_waiting_call(reachable)
    assert (queueing.notice_calls(), queueing.notice_calls()) == (1, 0)
    settlement.leave_unknown(
        intent_id=call.pk, actor=noor, reason="It is down.", look_again_at=database_now() + timedelta(hours=1)
    )
    assert queueing.notice_calls() == 0
    Intent.objects.update(waits_at=database_now())
    assert (queueing.notice_calls(), queueing.notice_calls()) == (1, 0)
    assert Delivery.objects.filter(kind="call_waits").count() == 2


def test_a_call_whose_client_may_still_report_is_not_noticed(reachable: Cast) -> None:
    a_tool(reachable)
    a_driver(the_runtime(reachable)).ask()
    assert queueing.notice_calls() == 0
    assert not Notice.objects.exists()


def test_a_call_is_noticed_as_overdue_once_its_time_has_passed(reachable: Cast) -> None:
    a_tool(reachable)
    call = a_waiting_call(reachable)
    assert queueing.notice_calls() == 1
    wait = timedelta(seconds=reachable.workspace.answer_seconds)
    Intent.objects.update(waits_at=database_now() - wait + timedelta(minutes=1))
    queueing.notice_calls()
    assert not Notice.objects.filter(kind="call_overdue").exists()
    Intent.objects.update(waits_at=database_now() - wait - timedelta(minutes=1))
    queueing.notice_calls()
    assert queueing.notice_calls() == 0
    assert list(Notice.objects.filter(kind="call_overdue").values_list("intent", flat=True)) == [call.pk]


def test_a_call_that_is_overdue_when_it_is_first_seen_is_told_as_that_alone(reachable: Cast) -> None:
    a_tool(reachable)
    a_waiting_call(reachable)
    Intent.objects.update(waits_at=database_now() - timedelta(hours=5))
    queueing.notice_calls()
    assert set(Delivery.objects.values_list("kind", flat=True)) == {"call_overdue"}
    assert queueing.notice_calls() == 0


def test_a_long_queue_of_calls_is_noticed_in_parts_and_none_is_left_out(reachable: Cast) -> None:
    a_tool(reachable)
    calls = {a_waiting_call(reachable).pk for _ in range(5)}
    assert [queueing.notice_calls(most=2) for _ in range(4)] == [2, 2, 1, 0]
    assert set(Notice.objects.values_list("intent", flat=True)) == calls


def test_after_a_storm_of_calls_the_rest_waits_for_the_next_ten_minutes(reachable: Cast) -> None:
    a_tool(reachable)
    for _ in range(queueing.STORM):
        a_waiting_call(reachable)
    queueing.notice_calls()
    assert not Delivery.objects.filter(next_attempt_at__gt=F("created_at")).exists()
    a_waiting_call(reachable)
    queueing.notice_calls()
    late = Delivery.objects.get(next_attempt_at__gt=F("created_at"))
    assert late.next_attempt_at - late.created_at <= queueing.STORM_SPAN
    assert (late.next_attempt_at.minute % 10, late.next_attempt_at.second) == (0, 0)


def test_noticing_many_calls_asks_the_database_no_more_often_than_noticing_one(reachable: Cast, root: Actor) -> None:
    a_tool(reachable)
    a_colleague(root, "nils", "settler")
    counts = []
    for number in (1, 10):
        for _ in range(number):
            a_waiting_call(reachable)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert queueing.notice_calls() == number
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_the_clock_names_tasks_that_exist(reachable: Cast) -> None:
    named = {entry["task"] for entry in app.conf.beat_schedule.values() if entry["task"].startswith("delivery.")}
    assert named == {tasks.empty_outbox.name, tasks.notice_calls.name, tasks.send_mail.name}
    assert named <= set(current_app.tasks)
    assert (tasks.empty_outbox(), tasks.notice_calls(), tasks.send_mail()) == (0, 0, 0)
