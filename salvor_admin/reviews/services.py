"""Drafting and deciding: every write of the approval flow, one door each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F

from salvor_admin.audit import services as audit
from salvor_admin.domain import documents, review
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role, Scope
from salvor_admin.domain.strict_json import Json
from salvor_admin.outbox import services as outbox
from salvor_admin.people import access as people_access
from salvor_admin.people.access import Actor
from salvor_admin.people.services import next_number
from salvor_admin.reviews import access, examining, selectors
from salvor_admin.reviews import items as request_items
from salvor_admin.reviews.items import WantedItem as WantedItem
from salvor_admin.reviews.models import (
    Acknowledgement,
    ChangeItem,
    ChangeRequest,
    Comment,
    Document,
    Revision,
    Verdict,
)
from salvor_admin.web.clock import database_now

LONGEST_REASON = 10_000


@dataclass(frozen=True, slots=True)
class Source:
    """Where a revision came from: a form, a file as it was handed in, a listing, the API."""

    kind: str = "form"
    name: str = ""
    raw: bytes | None = None


@transaction.atomic
def save_revision(
    *,
    actor: Actor,
    kind: str,
    body: Json,
    source: Source | None = None,
    base_revision: int | None = None,
    begun_from: int | None = None,
) -> Revision:
    """Stores a new revision, always a new row. An open change of that document takes it up, and verdicts on it are void.

    Raises the kind's own refusals; `stale_base` when `base_revision` is no longer what is live, or `begun_from` is no
    longer the newest revision (0: there is none yet).
    """
    people_access.require_scope(actor, Scope.DRAFT, "saving a revision")
    reading = documents.read(kind, body)
    source = source or Source()
    actor = people_access.deciding(actor)
    people_access.require(actor, Role.AUTHOR, "save a revision")
    now = database_now()
    Document.objects.bulk_create(
        [
            Document(
                workspace_id=actor.workspace_id,
                kind=reading.kind.value,
                key=reading.key,
                label=reading.label,
                created_at=now,
            )
        ],
        ignore_conflicts=True,
    )
    document_id = Document.objects.values_list("pk", flat=True).get(
        workspace_id=actor.workspace_id, kind=reading.kind.value, key=reading.key
    )
    document, open_request = access.document_with_open_change(actor, document_id)
    live = document.live_revision
    if base_revision is not None and base_revision != (live.number if live else 0):
        raise Refusal(
            "stale_base",
            f"This was drafted over revision {base_revision}, and "
            + (f"revision {live.number} is live now" if live else "nothing is live now")
            + "; compare with it and save again.",
            place="base_revision",
            details={"live_revision": live.number if live else None},
        )
    if begun_from is not None and begun_from != document.last_revision_number:
        newest = Revision.objects.select_related("author").get(document=document, number=document.last_revision_number)
        if begun_from == 0:
            raise Refusal(
                "stale_base",
                f"There is a {document.label} already: {newest.author.name} saved revision {newest.number} of it. Nothing was "
                "saved; open that one and edit it.",
                place="name",
                details={"newest_revision": newest.number},
            )
        raise Refusal(
            "stale_base",
            f"{newest.author.name} saved revision {newest.number} while you worked on revision {begun_from}; nothing was "
            "saved. Compare the two, then save yours on top of it.",
            place="begun_from",
            details={"newest_revision": newest.number},
        )
    number = document.last_revision_number + 1
    revision = Revision.objects.create(
        document=document,
        number=number,
        body=reading.text,
        digest=reading.digest,
        base=live,
        author=actor.person,
        source=source.kind,
        source_name=source.name[:255],
        source_bytes=source.raw,
        saved_at=now,
    )
    Document.objects.filter(pk=document.pk).update(last_revision_number=number)
    examining.keep(revision, reading.findings, now=now)
    if open_request is not None:
        _take_up(open_request, revision, actor=actor, now=now)
    audit.record(
        "revision.saved",
        subject=("document", document.pk),
        actor=actor,
        at=now,
        details={
            "kind": document.kind,
            "key": document.key,
            "revision": number,
            "digest": revision.digest,
            "source": source.kind,
            **({"change_request": open_request.number} if open_request else {}),
        },
    )
    return revision


def _take_up(request: ChangeRequest, revision: Revision, *, actor: Actor, now: datetime) -> None:
    """The open change of this document now holds the new revision: a draft again, on what is live today."""
    detail = selectors.detail(request)
    transition = review.decide_revise(detail.facts, people_access.facts(actor))
    before = request.digest
    ChangeItem.objects.filter(request=request, document_id=revision.document_id).update(
        action=review.Action.SET.value, revision=revision, base=revision.base
    )
    move(request, transition.state, by=actor, at=now, digest=request_items.digest_of(request))
    audit.record(
        "change_request.revised",
        subject=("change_request", request.pk),
        actor=actor,
        at=now,
        details={
            "number": request.number,
            "was_digest": before,
            "digest": request.digest,
            "voided": sum(1 for verdict in detail.verdicts if verdict.digest == before and before != request.digest),
            "items": request_items.told(selectors.items_of(request)),
        },
    )


def move(request: ChangeRequest, state: review.State, *, by: Actor, at: datetime, **columns: Any) -> None:
    """The one place where a change request changes its state; final states close its items."""
    request.state = state.value
    columns |= {"moved_by": by.person, "moved_at": at}
    for name, value in columns.items():
        setattr(request, name, value)
    ChangeRequest.objects.filter(pk=request.pk).update(state=state.value, version=F("version") + 1, **columns)
    if state in review.FINAL:
        ChangeItem.objects.filter(request=request).update(open=False)


@transaction.atomic
def open_change_request(
    *, actor: Actor, items: Sequence[WantedItem], reason: str = "", submit: bool = False
) -> ChangeRequest:
    """Gathers documents into one change request, and submits it at once when asked to.

    Documents that are all held open by one draft are that draft: it is submitted, no second one is made.
    Raises `change_open` when another open change holds one of them.
    """
    people_access.require_scope(actor, Scope.DRAFT, "opening a change request")
    actor = people_access.deciding(actor)
    people_access.require(actor, Role.AUTHOR, "open a change request")
    reason = _reason(reason, needed=submit)
    if not items:
        raise Refusal(
            "nothing_to_review", "A change request without items changes nothing; name a document.", place="items"
        )
    if len({item.document_id for item in items}) != len(items):
        raise Refusal("bad_request", "A document stands twice in this change request; name each once.", place="items")
    now = database_now()
    held = request_items.held_by_one_draft(actor.workspace_id, items)
    if held is not None:
        request = access.change_request_for_decision(actor, held)
        if request.state != review.State.DRAFT:
            raise request_items.change_open(items)
        request_items.set_items(request, access.documents_for_change(actor, [i.document_id for i in items]), items)
        move(request, review.State(request.state), by=actor, at=now, digest=request_items.digest_of(request))
    else:
        locked = access.documents_for_change(actor, [item.document_id for item in items])
        request = ChangeRequest.objects.create(
            workspace_id=actor.workspace_id,
            number=next_number(actor.workspace_id, "last_change_request"),
            state=review.State.DRAFT.value,
            reason=reason,
            digest="sha256:",
            created_by=actor.person,
            created_at=now,
        )
        try:
            with transaction.atomic():
                request_items.set_items(request, locked, items)
        except IntegrityError:
            raise request_items.change_open(items) from None
        move(request, review.State.DRAFT, by=actor, at=now, digest=request_items.digest_of(request))
        audit.record(
            "change_request.opened",
            subject=("change_request", request.pk),
            actor=actor,
            at=now,
            details={
                "number": request.number,
                "digest": request.digest,
                "items": request_items.told(selectors.items_of(request)),
            },
        )
    if submit:
        _submit(request, actor=actor, reason=reason, now=now)
    return request


def needed_reason(text: str) -> str:
    """A reason that was given, or `reason_missing`."""
    return _reason(text, needed=True)


def _reason(text: str, *, needed: bool, place: str = "reason") -> str:
    reason = text.strip()
    if needed and not reason:
        raise Refusal(
            "reason_missing",
            "Say why in a sentence: whoever decides, and whoever looks back, reads it.",
            place=place,
        )
    if len(reason) > LONGEST_REASON:
        raise Refusal("reason_too_long", f"A reason holds at most {LONGEST_REASON} characters.", place=place)
    if "\0" in reason:
        raise Refusal("bad_request", "A reason holds no NUL character; take it out.", place=place)
    return reason


@transaction.atomic
def submit(*, request_id: UUID, actor: Actor, reason: str) -> ChangeRequest:
    """Puts a draft before the reviewers, with the reason they will read."""
    people_access.require_scope(actor, Scope.DRAFT, "submitting")
    actor = people_access.deciding(actor)
    request = access.change_request_for_decision(actor, request_id)
    _submit(request, actor=actor, reason=_reason(reason, needed=True), now=database_now())
    return request


def _submit(request: ChangeRequest, *, actor: Actor, reason: str, now: datetime) -> None:
    examining.examine_request(request.pk)
    detail = selectors.detail(request)
    with access.naming_who_could(actor, Role.AUTHOR):
        transition = review.decide_submit(detail.facts, people_access.facts(actor))
    move(request, transition.state, by=actor, at=now, reason=reason, submitted_by=actor.person, submitted_at=now)
    outbox.tell(
        "change_request.submitted", workspace_id=actor.workspace_id, subject=("change_request", request.pk), at=now
    )
    audit.record(
        "change_request.submitted",
        subject=("change_request", request.pk),
        actor=actor,
        at=now,
        details={
            "number": request.number,
            "digest": request.digest,
            "reason": reason,
            "items": request_items.told(selectors.items_of(request)),
        },
    )


def give_verdict(
    *,
    request_id: UUID,
    actor: Actor,
    verdict: review.Verdict,
    digest: str,
    reason: str = "",
    acknowledge: Mapping[str, str] | None = None,
) -> ChangeRequest:
    """One reviewer's word on exactly the digest shown; blocking findings need an acknowledgement with a reason each."""
    people_access.require_scope(actor, Scope.DECIDE, "giving a verdict")
    examining.examine_request(access.change_request(actor, request_id).pk)
    return _give_verdict(
        request_id=request_id, actor=actor, verdict=verdict, digest=digest, reason=reason, acknowledge=acknowledge or {}
    )


@transaction.atomic
def _give_verdict(
    *,
    request_id: UUID,
    actor: Actor,
    verdict: review.Verdict,
    digest: str,
    reason: str,
    acknowledge: Mapping[str, str],
) -> ChangeRequest:
    actor = people_access.deciding(actor)
    request = access.change_request_for_decision(actor, request_id)
    detail = selectors.detail(request)
    given_words = ((finding, _reason(text, needed=False, place=finding)) for finding, text in acknowledge.items())
    said = {finding: words for finding, words in given_words if words}
    known = {str(finding.pk): finding for finding in detail.findings}
    strangers = sorted(set(said) - set(known))
    if strangers:
        raise Refusal(
            "not_found",
            "An acknowledged finding is none of this change request's; reload and look again.",
            place="acknowledge",
        )
    facts = replace(detail.facts, acknowledged=frozenset(said))
    with access.naming_who_could(actor, Role.REVIEWER, facts.items):
        transition = review.decide_verdict(facts, people_access.facts(actor), verdict, digest=digest)
    reason = _reason(reason, needed=verdict is not review.Verdict.APPROVE)
    now = database_now()
    given = Verdict.objects.create(
        request=request,
        person=actor.person,
        verdict=verdict.value,
        digest=digest,
        reason=reason,
        given_at=now,
        via=actor.via,
    )
    Acknowledgement.objects.bulk_create(
        [Acknowledgement(verdict=given, finding=known[finding], reason=text) for finding, text in said.items()]
    )
    if request.after_review and transition.state is review.State.APPROVED:
        # What it looks back at is live already: the reviewer's approval closes it.
        transition = review.Transition(review.State.PUBLISHED, transition.approvals)
    decided = {"decided_at": now} if transition.state is not review.State.IN_REVIEW else {}
    move(request, transition.state, by=actor, at=now, **decided)
    outbox.tell(
        "change_request.verdict_given",
        workspace_id=actor.workspace_id,
        subject=("change_request", request.pk),
        at=now,
        ids={"verdict": given.pk},
    )
    audit.record(
        "change_request.after_review_closed"
        if request.after_review and transition.state in review.FINAL
        else "change_request.verdict_given",
        subject=("change_request", request.pk),
        actor=actor,
        at=now,
        details={
            "number": request.number,
            "verdict": verdict.value,
            "digest": digest,
            "reason": reason,
            "state": transition.state.value,
            "acknowledged": {
                finding: {"code": known[finding].code, "reason": text} for finding, text in sorted(said.items())
            },
        },
    )
    return request


@transaction.atomic
def withdraw(*, request_id: UUID, actor: Actor, reason: str) -> ChangeRequest:
    """An author takes an open change request back, for good."""
    people_access.require_scope(actor, Scope.DRAFT, "withdrawing")
    actor = people_access.deciding(actor)
    request = access.change_request_for_decision(actor, request_id)
    with access.naming_who_could(actor, Role.AUTHOR):
        transition = review.decide_withdraw(selectors.detail(request).facts, people_access.facts(actor))
    reason = _reason(reason, needed=True)
    now = database_now()
    move(request, transition.state, by=actor, at=now, decided_at=now)
    outbox.tell(
        "change_request.withdrawn",
        workspace_id=actor.workspace_id,
        subject=("change_request", request.pk),
        at=now,
        ids={"by": actor.person_id},
    )
    audit.record(
        "change_request.withdrawn",
        subject=("change_request", request.pk),
        actor=actor,
        at=now,
        details={"number": request.number, "reason": reason, "digest": request.digest},
    )
    return request


@transaction.atomic
def comment(*, request_id: UUID, actor: Actor, text: str) -> Comment:
    """Words beside a change request; anyone in the workspace may write them, and they decide nothing."""
    people_access.require_scope(actor, Scope.DRAFT, "commenting")
    actor = people_access.deciding(actor)
    request = access.change_request(actor, request_id)
    words = _reason(text, needed=True)
    now = database_now()
    written = Comment.objects.create(request=request, person=actor.person, text=words, written_at=now)
    audit.record(
        "change_request.commented",
        subject=("change_request", request.pk),
        actor=actor,
        at=now,
        details={"number": request.number, "comment": written.pk},
    )
    return written
