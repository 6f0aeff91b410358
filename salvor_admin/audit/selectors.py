"""Reading the chain."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import QuerySet

from salvor_admin.audit.models import ChainHead, Entry
from salvor_admin.domain import audit_chain


def entries(workspace_id: int) -> QuerySet[Entry]:
    """A workspace's entries, newest first."""
    return Entry.objects.filter(workspace_id=workspace_id).order_by("-number")


def head(workspace_id: int) -> ChainHead | None:
    return ChainHead.objects.filter(workspace_id=workspace_id).first()


def stored_entries(workspace_id: int) -> Iterator[audit_chain.StoredEntry]:
    """The whole chain in order, read in pieces so that memory stays flat."""
    rows = Entry.objects.filter(workspace_id=workspace_id).order_by("number")
    for row in rows.iterator(chunk_size=2000):
        yield audit_chain.StoredEntry(
            number=row.number,
            action=row.action,
            subject_kind=row.subject_kind,
            subject_id=row.subject_id,
            actor_id=row.actor_id,
            actor_name=row.actor_name,
            via=row.via,
            at=row.at,
            text=row.text,
            previous_digest=row.previous_digest,
            digest=row.digest,
        )


def verdict(workspace_id: int, workspace_key: str) -> audit_chain.Verdict:
    """Whether the chain is whole, and where it first breaks."""
    end = head(workspace_id)
    return audit_chain.verify(
        stored_entries(workspace_id),
        workspace=workspace_key,
        head_number=end.number if end else 0,
        head_digest=end.digest if end else audit_chain.GENESIS,
    )
