"""Client tools as lists and pages show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db.models import BigIntegerField, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from salvor_admin.domain import client_tools, review
from salvor_admin.domain.client_tools import ClientTool
from salvor_admin.domain.effects import Effect
from salvor_admin.domain.refusals import Refusal
from salvor_admin.people.access import Actor
from salvor_admin.reviews import access
from salvor_admin.reviews import selectors as reviews
from salvor_admin.reviews.models import (
    ChangeItem,
    ChangeRequest,
    Document,
    Publication,
    PublicationItem,
    Revision,
    Verdict,
)


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One client tool in the list: what is live of it, and what is open."""

    document: Document
    tool: ClientTool | None
    live: Revision | None
    open_item: ChangeItem | None
    findings: dict[str, int]


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """What a list of client tools is narrowed to; empty: not at all."""

    q: str = ""
    effect: str = ""
    trust: str = ""
    change: str = ""
    findings: str = ""
    live: str = ""

    @property
    def chosen(self) -> dict[str, str]:
        return {name: value for name in FILTERS if (value := getattr(self, name))}


FILTERS: Final[dict[str, dict[str, str]]] = {
    "q": {},
    "effect": {effect.value: effect.value for effect in Effect},
    "trust": {"believed": "the client is believed", "person": "a person settles"},
    "change": {"open": "with an open change", "none": "without one"},
    "findings": {"block": "with a block", "warn": "with a block or a warning", "none": "with neither"},
    "live": {"yes": "live", "no": "not served"},
}


def read_filter(query: Mapping[str, str]) -> ToolFilter:
    """The filter in an address; a word that is none of its choices is refused."""
    chosen: dict[str, str] = {}
    for name, choices in FILTERS.items():
        value = query.get(name, "").replace("\0", "").strip()[:200]
        if value and choices and value not in choices:
            raise Refusal("bad_request", f"{name} is one of {', '.join(choices)}; choose one of them.", place=name)
        chosen[name] = value
    return ToolFilter(**chosen)


def client_tools_of(workspace_id: int, chosen: ToolFilter | None = None) -> QuerySet[Document]:
    """Documents of the kind in this workspace, by name; judged by the live revision, else by the open change's."""
    rows = Document.objects.filter(workspace_id=workspace_id, kind=review.Kind.CLIENT_TOOL.value).select_related(
        "live_revision"
    )
    if chosen is None or not chosen.chosen:
        return rows
    if chosen.q:
        rows = rows.filter(label__icontains=chosen.q)
    if chosen.live:
        rows = rows.filter(live_revision__isnull=chosen.live == "no")
    open_items = ChangeItem.objects.filter(document=OuterRef("pk"), open=True)
    if chosen.change:
        is_open = Exists(open_items)
        rows = rows.filter(is_open if chosen.change == "open" else ~is_open)
    rows = rows.annotate(
        shown=Coalesce(
            "live_revision_id", Subquery(open_items.values("revision_id")[:1]), output_field=BigIntegerField()
        )
    )
    if chosen.effect or chosen.trust:
        rows = rows.annotate(shown_body=Subquery(Revision.objects.filter(pk=OuterRef("shown")).values("body")[:1]))
    # Canonical text has its members in alphabetical order: a client tool begins with its effect and ends with its trust.
    if chosen.effect:
        rows = rows.filter(shown_body__startswith=f'{{"effect":"{chosen.effect}",')
    if chosen.trust:
        trusted = "true" if chosen.trust == "believed" else "false"
        rows = rows.filter(shown_body__endswith=f',"trust_completion":{trusted}}}')
    if chosen.findings:
        severities = ["block"] if chosen.findings == "block" else ["block", "warn"]
        found = Exists(reviews.newest_findings().filter(revision=OuterRef("shown"), severity__in=severities))
        rows = rows.filter(~found if chosen.findings == "none" else found)
    return rows


def rows(documents: Sequence[Document]) -> list[ToolRow]:
    """The rows of a page of the list, in three queries however many there are."""
    ids = [document.pk for document in documents]
    open_items = {
        item.document_id: item
        for item in ChangeItem.objects.filter(document_id__in=ids, open=True).select_related("request", "revision")
    }
    shown = {document.pk: _shown(document, open_items.get(document.pk)) for document in documents}
    counts = _findings(revision.pk for revision in shown.values() if revision is not None)
    return [
        ToolRow(
            document=document,
            tool=read(shown_revision) if (shown_revision := shown[document.pk]) else None,
            live=document.live_revision,
            open_item=open_items.get(document.pk),
            findings=counts.get(shown_revision.pk, {}) if shown_revision else {},
        )
        for document in documents
    ]


def _shown(document: Document, item: ChangeItem | None) -> Revision | None:
    return document.live_revision or (item.revision if item else None)


def _findings(revision_ids: Iterable[int]) -> dict[int, dict[str, int]]:
    counts: dict[int, dict[str, int]] = {}
    for finding in reviews.findings_of(revision_ids):
        of_revision = counts.setdefault(finding.revision_id, {})
        of_revision[finding.severity] = of_revision.get(finding.severity, 0) + 1
    return counts


def read(revision: Revision) -> ClientTool:
    """The tool a stored revision declares."""
    return client_tools.from_document_text(revision.body)


def client_tool(actor: Actor, document_id: UUID) -> Document:
    """A document of this kind; any other is as if it were not there."""
    found = access.document(actor, document_id)
    if found.kind != review.Kind.CLIENT_TOOL:
        raise Refusal("not_found", "There is no such client tool in this workspace.")
    return found


@dataclass(frozen=True, slots=True)
class RevisionHistory:
    """A revision and what became of it: where it was proposed, who approved it, which publications brought it."""

    revision: Revision
    is_live: bool
    request: ChangeRequest | None
    approved_by: tuple[str, ...]
    publications: tuple[Publication, ...]


MOST_REVISIONS: Final = 200


def revision_histories(document: Document) -> list[RevisionHistory]:
    """A document's revisions, newest first, at most 200, in four queries however many there are."""
    revisions = list(
        Revision.objects.filter(document=document).select_related("author").order_by("-number")[:MOST_REVISIONS]
    )
    requests: dict[int, ChangeRequest] = {}
    for item in ChangeItem.objects.filter(revision__in=revisions).select_related("request").order_by("request__number"):
        if item.revision_id is not None:
            requests[item.revision_id] = item.request
    brought: dict[int, list[Publication]] = {}
    for published in (
        PublicationItem.objects.filter(revision__in=revisions)
        .select_related("publication__published_by")
        .order_by("publication__number")
    ):
        if published.revision_id is not None:
            brought.setdefault(published.revision_id, []).append(published.publication)
    approved: dict[tuple[UUID, str], list[str]] = {}
    for request_id, digest, name in (
        Verdict.objects.filter(request__in=set(requests.values()), verdict=review.Verdict.APPROVE.value)
        .order_by("given_at", "pk")
        .values_list("request_id", "digest", "person__name")
    ):
        approved.setdefault((request_id, digest), []).append(name)
    return [
        RevisionHistory(
            revision=revision,
            is_live=revision.pk == document.live_revision_id,
            request=(request := requests.get(revision.pk)),
            approved_by=tuple(approved.get((request.pk, request.digest), ())) if request else (),
            publications=tuple(brought.get(revision.pk, ())),
        )
        for revision in revisions
    ]


def toml_or_why(tool: ClientTool) -> tuple[str, str]:
    """The tool as a TOML file, or why it cannot be one."""
    try:
        return client_tools.to_toml(tool), ""
    except Refusal as refusal:
        return "", refusal.message
