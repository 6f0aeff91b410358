"""Client tools as lists and pages show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from django.db.models import QuerySet

from salvor_admin.domain import canonical, client_tools, review, strict_json
from salvor_admin.domain.client_tools import ABSENT, ClientTool
from salvor_admin.domain.findings.finding import Severity
from salvor_admin.reviews import selectors as reviews
from salvor_admin.reviews.models import ChangeItem, Document, Revision


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One client tool in the list: what is live of it, and what is open."""

    document: Document
    tool: ClientTool | None
    live: Revision | None
    open_item: ChangeItem | None
    findings: int


@dataclass(frozen=True, slots=True)
class SchemaRow:
    """One property of a schema, as a table shows it."""

    path: str
    type: str
    required: bool
    limits: str
    description: str


def client_tools_of(workspace_id: int, *, name: str = "") -> QuerySet[Document]:
    """Documents of the kind in this workspace, by name."""
    rows = Document.objects.filter(workspace_id=workspace_id, kind=review.Kind.CLIENT_TOOL.value).select_related(
        "live_revision"
    )
    return rows.filter(label__icontains=name) if name else rows


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
            findings=counts.get(shown_revision.pk, 0) if shown_revision else 0,
        )
        for document in documents
    ]


def _shown(document: Document, item: ChangeItem | None) -> Revision | None:
    return document.live_revision or (item.revision if item else None)


def _findings(revision_ids: Iterable[int]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for finding in reviews.findings_of(revision_ids):
        if finding.severity != Severity.NOTE:
            counts[finding.revision_id] = counts.get(finding.revision_id, 0) + 1
    return counts


def read(revision: Revision) -> ClientTool:
    """The tool a stored revision declares."""
    return client_tools.from_document_text(revision.body)


def revisions(document_id: UUID) -> list[Revision]:
    """A document's revisions, newest first, at most 200."""
    return list(Revision.objects.filter(document_id=document_id).select_related("author").order_by("-number")[:200])


_LIMITS = ("enum", "const", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "minLength")
_MORE_LIMITS = ("maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems", "additionalProperties")
_DEEPEST_ROW = 12


def schema_rows(schema: object) -> list[SchemaRow]:
    """A schema's properties, nested ones by dotted path; what a table cannot say stays in the raw text."""
    if schema is ABSENT or not isinstance(schema, dict):
        return []
    found: list[SchemaRow] = []
    _collect(schema, "", found, 0)
    return found


def _collect(schema: dict[str, object], prefix: str, found: list[SchemaRow], depth: int) -> None:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or depth > _DEEPEST_ROW:
        return
    required = schema.get("required")
    needed = set(map(str, required)) if isinstance(required, list) else set()
    for name, inner in properties.items():
        path = f"{prefix}{name}"
        if not isinstance(inner, dict):
            found.append(SchemaRow(path, "anything" if inner is True else "nothing", name in needed, "", ""))
            continue
        found.append(
            SchemaRow(path, _type(inner), name in needed, _told_limits(inner), str(inner.get("description", "")))
        )
        _collect(inner, f"{path}.", found, depth + 1)
        items = inner.get("items")
        if isinstance(items, dict):
            _collect(items, f"{path}[].", found, depth + 1)


def _type(schema: dict[str, object]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(map(str, kind))
    if kind is None:
        return "by reference" if "$ref" in schema else "any"
    return str(kind)


def _told_limits(schema: dict[str, object]) -> str:
    told = [
        f"{word} {canonical.text(cast(strict_json.Json, schema[word]))}"
        for word in (*_LIMITS, *_MORE_LIMITS)
        if word in schema
    ]
    return ", ".join(told)
