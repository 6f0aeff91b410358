"""What became of a change request, oldest first: what the audit trail tells, verdicts, comments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from salvor_admin.audit import selectors as audit
from salvor_admin.domain import review
from salvor_admin.people.models import Person
from salvor_admin.reviews import presenting
from salvor_admin.reviews.models import Acknowledgement, ChangeRequest, Comment
from salvor_admin.reviews.presenting import VERDICT_WORDS
from salvor_admin.reviews.selectors import RequestDetail

MOST_LINES = 200


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that happened: by whom, in a few words, on which digest; `void` says why it no longer counts."""

    at: datetime
    name: str
    tone: str
    icon: str
    words: str
    text: str = ""
    digest: str = ""
    void: str = ""
    acknowledged: Sequence[Acknowledgement] = ()
    entry: int | None = None


_TOLD = {
    "change_request.opened": ("quiet", "note", "opened it"),
    "change_request.revised": ("quiet", "note", "changed what it holds"),
    "change_request.submitted": ("calm", "review", "submitted it"),
    "change_request.withdrawn": ("quiet", "stop", "withdrew it"),
    "change_request.published": ("ok", "catalogue", "published it"),
    "change_request.staled": ("warn", "hourglass", "put something newer live underneath"),
}
_VERDICTS = {"approve": ("ok", "check"), "reject": ("stop", "stop"), "request_changes": ("warn", "warn")}


def of(detail: RequestDetail) -> list[Line]:
    """The lines in the order they happened; at most the last 200."""
    lines = [*_audited(detail.request), *_verdicts(detail), *_comments(detail.request)]
    return sorted(lines, key=lambda line: line.at)[-MOST_LINES:]


def _audited(request: ChangeRequest) -> list[Line]:
    rows = list(
        audit.entries(request.workspace_id).filter(
            subject_kind="change_request", subject_id=str(request.pk), action__in=list(_TOLD)
        )[:MOST_LINES]
    )
    names = dict(Person.objects.filter(pk__in={row.actor_id for row in rows}).values_list("pk", "name"))
    found = []
    for row in reversed(rows):
        tone, icon, words = _TOLD[row.action]
        details = json.loads(row.text).get("details", {})
        if details.get("publication"):
            words = f"{words} as publication {details['publication']}"
        found.append(
            Line(
                row.at,
                names.get(row.actor_id or 0) or row.actor_name,
                tone,
                icon,
                words,
                details.get("reason", ""),
                details.get("digest", ""),
                entry=row.number,
            )
        )
    return found


def _verdicts(detail: RequestDetail) -> list[Line]:
    found = []
    for view in presenting.verdicts(detail):
        said = view.verdict
        tone, icon = ("quiet", "hourglass") if view.void else _VERDICTS[said.verdict]
        words = VERDICT_WORDS[said.verdict]
        if detail.request.after_review and said.verdict == review.Verdict.APPROVE:
            words = "looked back and closed it"
        found.append(
            Line(
                said.given_at,
                said.person.name,
                tone,
                icon,
                words,
                said.reason,
                said.digest,
                view.void,
                [each for each in detail.acknowledgements if each.verdict_id == said.pk],
            )
        )
    return found


def _comments(request: ChangeRequest) -> list[Line]:
    rows = Comment.objects.filter(request=request).select_related("person").order_by("-written_at", "-pk")
    return [Line(row.written_at, row.person.name, "quiet", "note", "", row.text) for row in reversed(rows[:MOST_LINES])]
