"""Registered services, their tokens, and which publication each has loaded."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import CheckConstraint, Q, UniqueConstraint


class Runtime(models.Model):
    """A registered service; no person."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("people.Workspace", on_delete=models.PROTECT, related_name="runtimes")
    name = models.CharField(max_length=120)
    lease_ttl_seconds = models.PositiveIntegerField(default=60)
    # An admin says so; otherwise what it says of labels is not believed.
    labels_believed = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey("people.Person", on_delete=models.PROTECT, null=True, related_name="+")
    # null: never loaded anything.
    loaded_publication = models.PositiveIntegerField(null=True)
    loaded_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            UniqueConstraint(fields=["workspace", "name"], name="one_runtime_per_name"),
            CheckConstraint(condition=Q(lease_ttl_seconds__gte=1), name="runtime_lease_is_positive"),
        ]

    def __str__(self) -> str:
        return self.name


class RuntimeToken(models.Model):
    """What a runtime presents; stored hashed, shown once."""

    runtime = models.ForeignKey(Runtime, on_delete=models.PROTECT, related_name="tokens")
    name = models.CharField(max_length=120)
    token_hash = models.BinaryField(max_length=32, unique=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey("people.Person", on_delete=models.PROTECT, null=True, related_name="+")
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name
