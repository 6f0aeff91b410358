"""Fetching what this actor may touch; hidden and missing look the same."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import transaction

from salvor_admin.domain import review
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Membership
from salvor_admin.reviews.models import ChangeItem, ChangeRequest, Document


def document(actor: Actor, document_id: UUID) -> Document:
    found = (
        Document.objects.select_related("live_revision").filter(workspace_id=actor.workspace_id, pk=document_id).first()
    )
    if found is None:
        raise Refusal("not_found", "There is no such document in this workspace.")
    return found


def documents_for_change(actor: Actor, document_ids: Iterable[UUID]) -> list[Document]:
    """These documents, locked in one order so that two changes never wait for each other in a ring."""
    wanted = set(document_ids)
    own = Document.objects.filter(workspace_id=actor.workspace_id, pk__in=wanted).order_by("pk")
    list(own.select_for_update(no_key=True).values_list("pk", flat=True))
    # Read after the locks are held: a row joined while waiting for one would be as it was before.
    rows = list(own.select_related("live_revision"))
    if len(rows) != len(wanted):
        raise Refusal("not_found", "There is no such document in this workspace.", place="items")
    return rows


class _MovedMeanwhile(Exception):
    """Another change request took the document, or let go of it, between reading and locking."""


def document_with_open_change(actor: Actor, document_id: UUID) -> tuple[Document, ChangeRequest | None]:
    """A document and the open change request that holds it, both locked, the request first as everywhere."""
    for _ in range(5):
        try:
            # A savepoint: what was locked in vain is let go again.
            with transaction.atomic():
                held_by = _open_request_id(document_id)
                request = (
                    ChangeRequest.objects.select_for_update(of=("self",), no_key=True).get(pk=held_by)
                    if held_by
                    else None
                )
                (document,) = documents_for_change(actor, [document_id])
                if _open_request_id(document_id) != held_by:
                    raise _MovedMeanwhile
                return document, request
        except _MovedMeanwhile:
            continue
    raise Refusal(
        "change_open",
        "Changes of this document are being opened and closed at this moment; nothing was done. Try again.",
    )


def _open_request_id(document_id: UUID) -> UUID | None:
    return ChangeItem.objects.filter(document_id=document_id, open=True).values_list("request_id", flat=True).first()


def change_request(actor: Actor, request_id: UUID) -> ChangeRequest:
    found = (
        ChangeRequest.objects.select_related("created_by", "submitted_by", "moved_by")
        .filter(workspace_id=actor.workspace_id, pk=request_id)
        .first()
    )
    if found is None:
        raise Refusal("not_found", "There is no such change request in this workspace.")
    return found


def change_request_for_decision(actor: Actor, request_id: UUID) -> ChangeRequest:
    """The change request with its documents, locked: the request first, then the documents by id."""
    found = (
        ChangeRequest.objects.select_for_update(of=("self",), no_key=True)
        .filter(workspace_id=actor.workspace_id, pk=request_id)
        .first()
    )
    if found is None:
        raise Refusal("not_found", "There is no such change request in this workspace.")
    documents_for_change(actor, ChangeItem.objects.filter(request=found).values_list("document_id", flat=True))
    return found


@contextmanager
def naming_who_could(actor: Actor, role: Role, items: Collection[review.ItemFacts] = ()) -> Iterator[None]:
    """Adds to a refusal of this person who could instead: those with the role who wrote none of the items."""
    try:
        yield
    except Refusal as refusal:
        if refusal.code not in {"not_allowed", "own_revision"}:
            raise
        barred = frozenset[int]().union(*(item.authors for item in items))
        able = list(
            Membership.objects.filter(
                workspace_id=actor.workspace_id, roles__contains=[role.value], person__is_active=True
            )
            .exclude(person_id__in=barred | {actor.person_id})
            .order_by("person__username")
            .values_list("person__username", flat=True)[:5]
        )
        who = (
            f"Here {', '.join(able)} could."
            if able
            else f"Nobody else here could; an admin may give somebody the role of {role.value}."
        )
        raise Refusal(refusal.code, f"{refusal.message} {who}", place=refusal.place, details=refusal.details) from None
