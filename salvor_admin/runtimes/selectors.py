"""Every read about runtimes, and what a runtime is given to load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from salvor_admin.domain.review import Kind
from salvor_admin.people.models import Workspace
from salvor_admin.reviews.models import Publication
from salvor_admin.runtimes.models import Runtime, RuntimeToken


class LiveDocument(NamedTuple):
    """One document as it is served."""

    document_id: UUID
    kind: str
    key: str
    label: str
    revision: int
    digest: str
    body: str


@dataclass(frozen=True, slots=True)
class LiveCatalogue:
    """What is served at one publication, documents in byte order of their keys. Publication 0: nothing ever was."""

    publication: int
    documents: tuple[LiveDocument, ...]

    def of_kind(self, kind: Kind) -> list[LiveDocument]:
        return [document for document in self.documents if document.kind == kind]


# From the workspace outwards, so that an empty catalogue has its number as well.
_LIVE = """
SELECT w.last_publication, d.id, d.kind, d.key, d.label, r.number, r.digest, r.body
FROM people_workspace w
LEFT JOIN (
    reviews_document d JOIN reviews_revision r ON r.id = d.live_revision_id
) ON d.workspace_id = w.id AND d.kind = ANY(%s)
WHERE w.id = %s
"""


def live_catalogue(workspace_id: int, kinds: Sequence[Kind]) -> LiveCatalogue:
    """The live publication with its documents of these kinds, by one statement: number and content belong together."""
    with connection.cursor() as cursor:
        cursor.execute(_LIVE, [[kind.value for kind in kinds], workspace_id])
        rows = cursor.fetchall()
    documents = [LiveDocument(*row[1:]) for row in rows if row[1] is not None]
    return LiveCatalogue(rows[0][0], tuple(sorted(documents, key=lambda document: document.key.encode())))


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A runtime and how far behind it is. `behind_since`: when the first publication it has not loaded went live."""

    runtime: Runtime
    behind: int
    behind_since: datetime | None


def runtimes(workspace_id: int) -> QuerySet[Runtime]:
    """A workspace's runtimes by name."""
    return Runtime.objects.filter(workspace_id=workspace_id).select_related("created_by").order_by("name", "pk")


def board(workspace: Workspace, rows: Sequence[Runtime]) -> list[BoardRow]:
    """What each of these runtimes has loaded against what is live, by one query for all."""
    last = Workspace.objects.values_list("last_publication", flat=True).get(pk=workspace.pk)
    loaded = {runtime.loaded_publication or 0 for runtime in rows}
    behind = {number for number in loaded if number < last}
    since: dict[int, datetime] = {}
    if behind:
        starts = Publication.objects.filter(
            workspace_id=workspace.pk, number__in=[number + 1 for number in behind]
        ).values_list("number", "published_at")
        since = {number - 1: at for number, at in starts}
    return [
        BoardRow(
            runtime=runtime,
            behind=max(0, last - (runtime.loaded_publication or 0)),
            behind_since=since.get(runtime.loaded_publication or 0),
        )
        for runtime in rows
    ]


def tokens_of(runtime: Runtime) -> list[RuntimeToken]:
    """A runtime's tokens, newest first; the secret itself is nowhere."""
    return list(
        RuntimeToken.objects.filter(runtime=runtime).select_related("created_by").order_by("-created_at", "-pk")
    )
