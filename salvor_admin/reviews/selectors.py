"""Every read of documents and change requests that a rule, a page or a serializer needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Exists, F, OuterRef, QuerySet, Subquery

from salvor_admin.domain import review
from salvor_admin.domain.findings.finding import Severity
from salvor_admin.domain.rights import Role
from salvor_admin.people.models import Membership
from salvor_admin.reviews.models import (
    Acknowledgement,
    ChangeItem,
    ChangeRequest,
    Document,
    Examination,
    Finding,
    Publication,
    PublicationItem,
    Revision,
    Verdict,
)


@dataclass(frozen=True, slots=True)
class RequestDetail:
    """A change request with everything that is read with it."""

    request: ChangeRequest
    items: list[ChangeItem]
    verdicts: list[Verdict]
    findings: list[Finding]
    facts: review.RequestFacts
    acknowledgements: list[Acknowledgement] = field(default_factory=list)


def items_of(request: ChangeRequest) -> list[ChangeItem]:
    """A request's items by document label, with both revisions and their authors."""
    return list(
        ChangeItem.objects.filter(request=request)
        .select_related("document", "document__live_revision", "revision", "revision__author", "base")
        .order_by("document__kind", "document__label", "document_id")
    )


def authors_of(items: Iterable[ChangeItem], request: ChangeRequest) -> dict[int, frozenset[int]]:
    """Per item: who wrote a revision after its base up to the one submitted (design 11, rights).

    A roll-back and a removal write nothing, so whoever proposed them counts as their author. Taking an old revision of
    what was removed, or never was live, is a roll-back too.
    """
    items = list(items)
    spans: dict[UUID, list[tuple[int, int]]] = defaultdict(list)
    served: set[int] = set()
    earlier = PublicationItem.objects.filter(revision=OuterRef("pk"), publication__published_at__lt=request.created_at)
    for pk, number, document_id, author_id, was_live in (
        Revision.objects.filter(document__in=[item.document_id for item in items])
        .order_by("number")
        .values_list("pk", "number", "document_id", "author_id", Exists(earlier))
    ):
        spans[document_id].append((number, author_id))
        if was_live:
            served.add(pk)
    proposers = {request.created_by_id} | ({request.submitted_by_id} if request.submitted_by_id else set())
    found: dict[int, frozenset[int]] = {}
    for item in items:
        if item.revision is None:
            found[item.pk] = frozenset(proposers)
            continue
        base = item.base.number if item.base else 0
        writers = {author for number, author in spans[item.document_id] if base < number <= item.revision.number}
        is_newest = item.revision.number == item.document.last_revision_number
        if item.revision.number <= base or item.revision.pk in served or not is_newest:
            writers |= {item.revision.author_id} | proposers
        found[item.pk] = frozenset(writers)
    return found


def facts_of(
    request: ChangeRequest, items: list[ChangeItem], verdicts: list[Verdict], findings: list[Finding]
) -> review.RequestFacts:
    """The change request as the pure rules see it."""
    authors = authors_of(items, request)
    able = set(
        Membership.objects.filter(
            workspace_id=request.workspace_id,
            person_id__in=[verdict.person_id for verdict in verdicts],
            person__is_active=True,
            roles__contains=[Role.REVIEWER.value],
        ).values_list("person_id", flat=True)
    )
    return review.RequestFacts(
        state=review.State(request.state),
        digest=request.digest,
        quorum=request.quorum,
        items=tuple(
            review.ItemFacts(
                kind=item.document.kind,
                key=item.document.key,
                action=item.action,
                revision_digest=item.revision.digest if item.revision else "",
                base_digest=item.base.digest if item.base else "",
                base_is_live=item.base_id == item.document.live_revision_id,
                authors=authors[item.pk],
                label=item.document.label,
            )
            for item in items
        ),
        verdicts=tuple(
            review.GivenVerdict(
                person_id=verdict.person_id,
                verdict=verdict.verdict,
                digest=verdict.digest,
                person_may=verdict.person_id in able,
            )
            for verdict in verdicts
        ),
        moved_by=request.moved_by.name if request.moved_by else "",
        moved_at=request.moved_at,
        blocking=frozenset(str(finding.pk) for finding in findings if finding.severity == Severity.BLOCK),
        after_review=request.after_review,
    )


def newest_findings() -> QuerySet[Finding]:
    """Of each revision, the findings of the newest rules that looked at it."""
    newest = Examination.objects.filter(revision=OuterRef("revision")).order_by("-rule_set").values("rule_set")[:1]
    return Finding.objects.annotate(newest=Subquery(newest)).filter(rule_set=F("newest"))


def findings_of(revisions: Iterable[int]) -> list[Finding]:
    """What was found about these revisions, by severity, then place."""
    rows = newest_findings().filter(revision__in=list(revisions)).select_related("revision__document")
    return sorted(rows, key=lambda row: (_SEVERITIES[row.severity], row.revision.document.label, row.code, row.place))


_SEVERITIES = {Severity.BLOCK.value: 0, Severity.WARN.value: 1, Severity.NOTE.value: 2}


def findings_of_revision(revision: Revision) -> list[Finding]:
    """What was found about one revision, most serious first."""
    return findings_of([revision.pk])


def detail(request: ChangeRequest) -> RequestDetail:
    """Everything of one change request, in a fixed number of queries."""
    items = items_of(request)
    verdicts = list(Verdict.objects.filter(request=request).select_related("person").order_by("given_at", "pk"))
    findings = findings_of(item.revision_id for item in items if item.revision_id)
    return RequestDetail(
        request=request,
        items=items,
        verdicts=verdicts,
        findings=findings,
        facts=facts_of(request, items, verdicts, findings),
        acknowledgements=list(
            Acknowledgement.objects.filter(verdict__request=request).select_related("verdict__person", "finding")
        ),
    )


def change_requests(workspace_id: int, *, states: Iterable[str] = ()) -> QuerySet[ChangeRequest]:
    """A workspace's change requests, newest number first."""
    rows = ChangeRequest.objects.filter(workspace_id=workspace_id).select_related(
        "created_by", "submitted_by", "moved_by"
    )
    wanted = list(states)
    return (rows.filter(state__in=wanted) if wanted else rows).order_by("-number")


def documents(workspace_id: int, *, kind: str | None = None) -> QuerySet[Document]:
    """A workspace's documents by label."""
    rows = Document.objects.filter(workspace_id=workspace_id).select_related("live_revision")
    return (rows.filter(kind=kind) if kind else rows).order_by("label", "pk")


def revisions(document_id: UUID) -> list[Revision]:
    """Every revision of a document, newest first."""
    return list(Revision.objects.filter(document_id=document_id).select_related("author", "base").order_by("-number"))


def live_documents(workspace_id: int, kind: str) -> QuerySet[Document]:
    """What is served of one kind, in byte order of the key."""
    return (
        Document.objects.filter(workspace_id=workspace_id, kind=kind, live_revision__isnull=False)
        .select_related("live_revision")
        .order_by("key")
    )


def last_publication(workspace_id: int) -> Publication | None:
    return Publication.objects.filter(workspace_id=workspace_id).order_by("-number").first()


def open_request_of(document_id: UUID) -> ChangeRequest | None:
    """The change request that holds this document open, if one does."""
    item = ChangeItem.objects.select_related("request").filter(document_id=document_id, open=True).first()
    return item.request if item else None


def open_requests_of(document_ids: Iterable[UUID]) -> dict[UUID, ChangeRequest]:
    """By document, the change request that holds it open."""
    items = ChangeItem.objects.select_related("request").filter(document_id__in=list(document_ids), open=True)
    return {item.document_id: item.request for item in items}


#: Counting stops here: a page says "100+" rather than reading a whole table.
COUNTED = 100


def count_waiting(workspace_id: int) -> tuple[int, bool]:
    """How many change requests wait for a verdict or for publishing, and whether counting stopped."""
    waiting = ChangeRequest.objects.filter(
        workspace_id=workspace_id, state__in=[review.State.IN_REVIEW.value, review.State.APPROVED.value]
    ).order_by()[: COUNTED + 1]
    number = len(waiting.values_list("pk", flat=True))
    return min(number, COUNTED), number > COUNTED
