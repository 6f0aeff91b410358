"""Writing the chain: one entry per act, in the transaction that did it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from django.db import connection

from salvor_admin.audit.actions import ACTIONS
from salvor_admin.audit.models import ChainHead, Entry
from salvor_admin.domain import audit_chain


class Actor(Protocol):
    """Who did it, through which door, in which workspace."""

    @property
    def workspace_id(self) -> int: ...
    @property
    def workspace_key(self) -> str: ...
    @property
    def person_id(self) -> int | None: ...
    @property
    def person_name(self) -> str: ...
    @property
    def via(self) -> str: ...


def record(
    action: str,
    *,
    subject: tuple[str, object],
    actor: Actor,
    at: datetime,
    details: Mapping[str, Any] | None = None,
) -> Entry:
    """Appends one entry and moves the chain head; call it last, since the head's row is locked until commit."""
    if action not in ACTIONS:
        raise ValueError(f"{action} is not registered in audit/actions.py")
    if not connection.in_atomic_block:
        raise RuntimeError("an audit entry belongs into the transaction of what it records")
    head, _ = ChainHead.objects.get_or_create(
        workspace_id=actor.workspace_id, defaults={"number": 0, "digest": audit_chain.GENESIS}
    )
    head = ChainHead.objects.select_for_update().get(pk=head.pk)
    kind, subject_id = subject
    text = audit_chain.entry_text(
        workspace=actor.workspace_key,
        number=head.number + 1,
        action=action,
        subject_kind=kind,
        subject_id=str(subject_id),
        actor_id=actor.person_id,
        actor_name=actor.person_name,
        via=actor.via,
        at=at,
        details=details or {},
        previous_digest=head.digest,
    )
    entry = Entry.objects.create(
        workspace_id=actor.workspace_id,
        number=head.number + 1,
        action=action,
        subject_kind=kind,
        subject_id=str(subject_id),
        actor_id=actor.person_id,
        actor_name=actor.person_name,
        via=actor.via,
        at=at,
        text=text,
        previous_digest=head.digest,
        digest=audit_chain.digest(text),
    )
    ChainHead.objects.filter(pk=head.pk).update(number=entry.number, digest=entry.digest)
    return entry
