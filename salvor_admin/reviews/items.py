"""The items of a change request: what is wanted, what holds it, and what they are called in digest and trail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from salvor_admin.domain import review
from salvor_admin.domain.refusals import Refusal
from salvor_admin.reviews import selectors
from salvor_admin.reviews.models import ChangeItem, ChangeRequest, Document, Revision


@dataclass(frozen=True, slots=True)
class WantedItem:
    """One document of a change request to be: set to a revision (an old one rolls back), or removed."""

    document_id: UUID
    action: str = review.Action.SET.value
    revision: int | None = None


def digest_of(request: ChangeRequest) -> str:
    """The digest of exactly what a change request holds now."""
    items = selectors.items_of(request)
    return review.request_digest(selectors.facts_of(request, items, [], []).items)


def held_by_one_draft(workspace_id: int, items: Sequence[WantedItem]) -> UUID | None:
    wanted = {item.document_id for item in items}
    open_items = list(
        ChangeItem.objects.filter(request__workspace_id=workspace_id, document_id__in=wanted, open=True).values_list(
            "request_id", "request__state"
        )
    )
    if len(open_items) != len(wanted) or len(set(open_items)) != 1:
        return None
    request_id, state = open_items[0]
    others = ChangeItem.objects.filter(request_id=request_id).exclude(document_id__in=wanted)
    return request_id if state == review.State.DRAFT and not others.exists() else None


def change_open(items: Sequence[WantedItem]) -> Refusal:
    held = (
        ChangeItem.objects.select_related("request", "document")
        .filter(document_id__in=[item.document_id for item in items], open=True)
        .first()
    )
    if held is None:
        return Refusal(
            "change_open", "Another change of this document was open a moment ago; try again.", place="items"
        )
    return Refusal(
        "change_open",
        f"CR-{held.request.number} already changes {held.document.label}, and is {held.request.state}; "
        "save a revision there, or wait until it is decided.",
        place="items",
        details={"change_request": str(held.request_id), "state": held.request.state},
    )


def set_items(request: ChangeRequest, locked: Sequence[Document], items: Sequence[WantedItem]) -> None:
    by_id = {document.pk: document for document in locked}
    for item in items:
        document = by_id[item.document_id]
        revision = _wanted_revision(document, item)
        ChangeItem.objects.update_or_create(
            request=request,
            document=document,
            defaults={"action": item.action, "revision": revision, "base": document.live_revision, "open": True},
        )


def _wanted_revision(document: Document, item: WantedItem) -> Revision | None:
    if item.action not in {action.value for action in review.Action}:
        raise Refusal("bad_request", f"{item.action!r} is no action; say set or remove.", place="items")
    if item.action == review.Action.REMOVE:
        if document.live_revision is None:
            raise Refusal("nothing_to_remove", f"{document.label} is not live, so it cannot be removed.", place="items")
        return None
    number = item.revision if item.revision is not None else document.last_revision_number
    revision = Revision.objects.filter(document=document, number=number).first()
    if revision is None:
        raise Refusal("not_found", f"{document.label} has no revision {number}.", place="items")
    if revision.pk == document.live_revision_id:
        raise Refusal("nothing_to_review", f"Revision {number} of {document.label} is live already.", place="items")
    return revision


def told(items: Sequence[ChangeItem]) -> list[dict[str, Any]]:
    """The items of a change request as the audit trail tells them."""
    return [
        {
            "kind": item.document.kind,
            "key": item.document.key,
            "action": item.action,
            "revision": item.revision.number if item.revision else None,
            "digest": item.revision.digest if item.revision else None,
            "base": item.base.number if item.base else None,
        }
        for item in items
    ]
