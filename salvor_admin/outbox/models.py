"""What others must hear of. A row is the queue; nothing is lost while a broker is down."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Message(models.Model):
    """One thing to tell, by ids only: whoever delivers it reads the rest when it is sent."""

    workspace = models.ForeignKey("people.Workspace", on_delete=models.PROTECT, related_name="+")
    topic = models.CharField(max_length=80)
    subject_kind = models.CharField(max_length=40)
    subject_id = models.CharField(max_length=80)
    ids = models.JSONField(default=dict)
    created_at = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True)
    parked_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=500, blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["next_attempt_at", "id"],
                condition=Q(delivered_at__isnull=True, parked_at__isnull=True),
                name="outbox_undelivered",
            )
        ]

    def __str__(self) -> str:
        return f"{self.topic} {self.subject_id}"
