"""What people and their tokens did: entries that only grow, each naming the digest of the one before."""

from __future__ import annotations

from django.db import models
from django.db.models import UniqueConstraint


class Entry(models.Model):
    """One act. `text` is the exact text that was hashed; the columns beside it must agree with it."""

    workspace = models.ForeignKey("people.Workspace", on_delete=models.PROTECT, related_name="+")
    number = models.PositiveBigIntegerField()
    action = models.CharField(max_length=80)
    subject_kind = models.CharField(max_length=40)
    subject_id = models.CharField(max_length=80)
    # Plain numbers and names, no foreign keys: an entry outlives whatever it speaks of.
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(max_length=120)
    via = models.CharField(max_length=20)
    at = models.DateTimeField()
    text = models.TextField()
    previous_digest = models.CharField(max_length=71)
    digest = models.CharField(max_length=71)

    class Meta:
        constraints = [UniqueConstraint(fields=["workspace", "number"], name="one_audit_entry_per_number")]
        indexes = [
            models.Index(fields=["workspace", "subject_kind", "subject_id"], name="audit_by_subject"),
            models.Index(fields=["workspace", "action", "number"], name="audit_by_action"),
            models.Index(fields=["workspace", "actor_id", "number"], name="audit_by_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.action}"


class ChainHead(models.Model):
    """Where a workspace's chain ends; locked last in every writing transaction."""

    workspace = models.OneToOneField("people.Workspace", on_delete=models.PROTECT, related_name="+", primary_key=True)
    number = models.PositiveBigIntegerField(default=0)
    digest = models.CharField(max_length=71)

    def __str__(self) -> str:
        return f"{self.number}"
