"""Which revision of one document each runtime has loaded, and since when it is behind."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime

from salvor_admin.reviews.models import Document, PublicationItem
from salvor_admin.runtimes.models import Runtime

MOST_RUNTIMES = 100


@dataclass(frozen=True, slots=True)
class LoadedRow:
    """One runtime: `revision` is None where this document was not among what it loaded."""

    runtime: Runtime
    revision: int | None
    #: The first publication after what it loaded that changed this document, and when; None: it is not behind.
    behind: int | None
    behind_since: datetime | None


@dataclass(frozen=True, slots=True)
class Loaded:
    """Who has loaded a document; at most a hundred runtimes, by name."""

    rows: tuple[LoadedRow, ...]
    more: bool

    @property
    def behind(self) -> int:
        return sum(1 for row in self.rows if row.behind is not None)


def of_document(document: Document) -> Loaded:
    """What each active runtime of the workspace obeys of this document, in two queries."""
    runtimes = list(
        Runtime.objects.filter(workspace_id=document.workspace_id, is_active=True).order_by("name", "pk")[
            : MOST_RUNTIMES + 1
        ]
    )
    changes = list(
        PublicationItem.objects.filter(document=document)
        .order_by("publication__number")
        .values_list("publication__number", "publication__published_at", "revision__number")
    )
    numbers = [number for number, _, _ in changes]
    rows = []
    for runtime in runtimes[:MOST_RUNTIMES]:
        at = bisect_right(numbers, runtime.loaded_publication or 0)
        behind = changes[at] if at < len(changes) else None
        rows.append(
            LoadedRow(
                runtime=runtime,
                revision=changes[at - 1][2] if at else None,
                behind=behind[0] if behind else None,
                behind_since=behind[1] if behind else None,
            )
        )
    return Loaded(tuple(rows), len(runtimes) > MOST_RUNTIMES)
