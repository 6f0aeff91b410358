"""The clock: which task looks at the rows how often. The rows are the queue; a lost message loses nothing."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "salvor_admin.settings")

app = Celery("salvor_admin")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

app.conf.beat_schedule = {
    "notice-lapsed-leases": {"task": "ledger.notice_lapsed_leases", "schedule": 15.0},
    "close-answered-cases": {"task": "settlement.close_answered_cases", "schedule": 60.0},
    "forget-presences": {"task": "settlement.forget_presences", "schedule": 900.0},
    "empty-outbox": {"task": "delivery.empty_outbox", "schedule": 15.0},
    "notice-calls": {"task": "delivery.notice_calls", "schedule": 30.0},
    "send-mail": {"task": "delivery.send_mail", "schedule": 15.0},
}
