"""What changes what is served: publishing, revoking, suspending. Each is a publication."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from salvor_admin.audit import services as audit
from salvor_admin.domain import review
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role, Scope
from salvor_admin.outbox import services as outbox
from salvor_admin.people import access as people_access
from salvor_admin.people.access import Actor
from salvor_admin.people.services import next_number
from salvor_admin.reviews import access, items, selectors, services
from salvor_admin.reviews.models import (
    ChangeItem,
    ChangeRequest,
    Document,
    Publication,
    PublicationItem,
    Revision,
    Suspension,
)
from salvor_admin.web.clock import database_now

Change = tuple[Document, Revision | None]


def publish(*, request_id: UUID, actor: Actor, digest: str | None = None) -> Publication:
    """Makes an approved change request live: digest, bases, quorum and people are checked again in this transaction.

    A base that moved turns the request stale instead, and nothing goes live (`stale_base`).
    """
    people_access.require_scope(actor, Scope.DECIDE, "publishing")
    with transaction.atomic():
        acting = people_access.deciding(actor)
        request = access.change_request_for_decision(acting, request_id)
        detail = selectors.detail(request)
        if request.after_review:
            raise Refusal(
                "wrong_state",
                "This looks back at an emergency revoke that is live already; a reviewer closes it with a verdict.",
                details={"state": request.state},
            )
        with access.naming_who_could(acting, Role.PUBLISHER, detail.facts.items):
            review.decide_publish(detail.facts, people_access.facts(acting), digest=digest)
        now = database_now()
        publication = _put_live(
            acting,
            [(item.document, item.revision) for item in detail.items],
            cause="change_request",
            request=request,
            reason=request.reason,
            now=now,
        )
        services.move(request, review.State.PUBLISHED, by=acting, at=now, decided_at=now)
        _tell(acting, "change_request.published", ("change_request", request.pk), publication, now)
        audit.record(
            "change_request.published",
            subject=("change_request", request.pk),
            actor=acting,
            at=now,
            details={
                "number": request.number,
                "digest": request.digest,
                "publication": publication.number,
                "items": items.told(detail.items),
            },
        )
        return publication


def _put_live(
    actor: Actor,
    changes: Sequence[Change],
    *,
    cause: str,
    request: ChangeRequest | None,
    reason: str,
    now: datetime,
) -> Publication:
    publication = Publication.objects.create(
        workspace_id=actor.workspace_id,
        number=next_number(actor.workspace_id, "last_publication"),
        cause=cause,
        request=request,
        published_by=actor.person,
        published_at=now,
        reason=reason,
    )
    for document, revision in changes:
        PublicationItem.objects.create(
            publication=publication, document=document, revision=revision, was=document.live_revision
        )
        Document.objects.filter(pk=document.pk).update(live_revision=revision)
        if cause != "suspend":
            # Whatever is decided about a document ends its suspension.
            Suspension.objects.filter(document=document, ended__isnull=True).update(ended=publication)
    return publication


def _tell(actor: Actor, topic: str, subject: tuple[str, object], publication: Publication, now: datetime) -> None:
    outbox.tell(
        topic, workspace_id=actor.workspace_id, subject=subject, at=now, ids={"publication": publication.number}
    )


def _make_stale(document: Document, *, actor: Actor, publication: Publication, now: datetime) -> None:
    """An open change drafted over what just moved is stale; it needs a new revision."""
    for item in ChangeItem.objects.filter(document=document, open=True).select_related("request"):
        services.move(item.request, review.State.STALE, by=actor, at=now)
        audit.record(
            "change_request.staled",
            subject=("change_request", item.request_id),
            actor=actor,
            at=now,
            details={
                "number": item.request.number,
                "digest": item.request.digest,
                "publication": publication.number,
                "key": document.key,
            },
        )


@transaction.atomic
def revoke(*, document_id: UUID, reason: str, actor: Actor) -> Publication:
    """An admin takes a document out of service at once; a review of that act stays open until a reviewer closes it."""
    people_access.require_scope(actor, Scope.DECIDE, "revoking")
    acting = people_access.deciding(actor)
    people_access.require(acting, Role.ADMIN, "revoke a document at once")
    why = services.needed_reason(reason)
    document, _ = access.document_with_open_change(acting, document_id)
    if document.live_revision is None:
        raise Refusal(
            "wrong_state",
            f"{document.label} is not live, so there is nothing to revoke.",
            details={"state": "not_live"},
        )
    now = database_now()
    was = document.live_revision
    request = ChangeRequest.objects.create(
        workspace_id=acting.workspace_id,
        number=next_number(acting.workspace_id, "last_change_request"),
        state=review.State.IN_REVIEW.value,
        reason=why,
        digest="sha256:",
        after_review=True,
        created_by=acting.person,
        created_at=now,
        submitted_by=acting.person,
        submitted_at=now,
    )
    ChangeItem.objects.create(
        request=request, document=document, action=review.Action.REMOVE.value, revision=None, base=was, open=False
    )
    services.move(request, review.State.IN_REVIEW, by=acting, at=now, digest=items.digest_of(request))
    publication = _put_live(acting, [(document, None)], cause="revoke", request=request, reason=why, now=now)
    _make_stale(document, actor=acting, publication=publication, now=now)
    _tell(acting, "document.revoked", ("document", document.pk), publication, now)
    audit.record(
        "document.revoked",
        subject=("document", document.pk),
        actor=acting,
        at=now,
        details={
            "kind": document.kind,
            "key": document.key,
            "revision": was.number,
            "digest": was.digest,
            "publication": publication.number,
            "after_review": request.number,
            "reason": why,
        },
    )
    return publication
