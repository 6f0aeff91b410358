"""The one way into the outbox."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import connection

from salvor_admin.outbox.models import Message


def tell(
    topic: str, *, workspace_id: int, subject: tuple[str, object], at: datetime, ids: dict[str, Any] | None = None
) -> Message:
    """Stores that others must hear of this, in the transaction that made it true."""
    if not connection.in_atomic_block:
        raise RuntimeError("a message belongs into the transaction of what it tells")
    kind, subject_id = subject
    return Message.objects.create(
        workspace_id=workspace_id,
        topic=topic,
        subject_kind=kind,
        subject_id=str(subject_id),
        ids=ids or {},
        created_at=at,
        next_attempt_at=at,
    )
