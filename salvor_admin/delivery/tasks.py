"""Sweeps over what is to be told: found by rows, safe to run twice and at once."""

from __future__ import annotations

from celery import shared_task

from salvor_admin.delivery import queueing, sending


@shared_task(name="delivery.empty_outbox")
def empty_outbox() -> int:
    """Queue what each message of the outbox means for each person."""
    return queueing.empty_outbox()


@shared_task(name="delivery.notice_calls")
def notice_calls() -> int:
    """Queue mail about calls that began to wait or became overdue."""
    return queueing.notice_calls()


@shared_task(name="delivery.send_mail")
def send_mail() -> int:
    """Send what is due."""
    return sending.send_mail()
