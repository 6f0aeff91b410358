"""Several workers at once: each message is spread once, each call noticed once, each mail sent once."""

from __future__ import annotations

from collections import Counter

import pytest
from django.core import mail

from salvor_admin.delivery import queueing, sending
from salvor_admin.delivery.models import Delivery, Notice
from salvor_admin.outbox.models import Message
from salvor_admin.people.access import Actor
from tests.delivery.factories import a_colleague, delivered
from tests.people.factories import Cast
from tests.races import ROUNDS, THREADS, at_once
from tests.reviews.factories import a_submitted_change
from tests.settlement.factories import a_tool, a_waiting_call

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.races]


def test_workers_at_once_spread_each_message_and_send_each_mail_once(reachable: Cast, ada: Actor, root: Actor) -> None:
    a_colleague(root, "rita", "reviewer")
    for turn in range(ROUNDS):
        names = [f"tool_{turn}_{number}" for number in range(3)]
        for name in names:
            a_submitted_change(author=ada, name=name)
        mail.outbox.clear()
        results = at_once(*[queueing.empty_outbox] * THREADS)
        assert [result for result in results if isinstance(result, Exception)] == []
        assert sum(result for result in results if isinstance(result, int)) == len(names)
        results = at_once(*[sending.send_mail] * THREADS)
        assert [result for result in results if isinstance(result, Exception)] == []
        told = Counter((message.to[0], message.subject.split(",")[0]) for message in mail.outbox)
        assert told == {
            (f"{who}@example.test", f"Asked to review: {name}"): 1 for who in ("grace", "rita") for name in names
        }
    assert not Message.objects.filter(delivered_at__isnull=True).exists()
    assert set(Delivery.objects.values_list("standing", "attempts")) == {("sent", 1)}


def test_sweeps_and_workers_at_once_tell_of_each_call_once(reachable: Cast, root: Actor) -> None:
    a_tool(reachable)
    delivered()
    for _ in range(ROUNDS):
        calls = {a_waiting_call(reachable).pk for _ in range(3)}
        mail.outbox.clear()
        acts = [queueing.notice_calls, sending.send_mail, queueing.empty_outbox, sending.send_mail]
        results = at_once(*acts * (THREADS // 4))
        assert [result for result in results if isinstance(result, Exception)] == []
        queueing.notice_calls()
        # What came after a storm waits for its time; here it has come.
        Delivery.objects.filter(standing="queued", kind="call_waits").update(next_attempt_at="2026-01-01T00:00Z")
        at_once(*[sending.send_mail] * THREADS)
        assert Notice.objects.filter(intent__in=calls).count() == len(calls)
        told = Counter(str(call) for message in mail.outbox for call in calls if f"/calls/{call}/" in message.body)
        assert told == {str(call): 1 for call in calls}
