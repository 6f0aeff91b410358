"""The audit trail as pages: who did what, on which digest, and whether the chain is whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from salvor_admin.audit import selectors
from salvor_admin.audit.actions import ACTIONS
from salvor_admin.audit.models import Entry
from salvor_admin.domain.refusals import Refusal
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Membership
from salvor_admin.people.pages import in_workspace
from salvor_admin.reviews.models import ChangeRequest, Document
from salvor_admin.web import pagination

#: What entries speak of; the index begins with it.
SUBJECTS = (
    "change_request",
    "document",
    "case",
    "run",
    "person",
    "personal_token",
    "runtime",
    "runtime_token",
    "workspace",
    "server",
)
MOST_SUBJECTS = 100
FILTERS = ("actor", "action", "subject", "from", "to")


def _day(text: str, place: str) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.combine(date.fromisoformat(text), time(), ZoneInfo("UTC"))
    except ValueError:
        raise Refusal("bad_request", f"{text!r} is no date; write it as 2026-03-01.", place=place) from None


def _filtered(actor: Actor, chosen: dict[str, str]) -> QuerySet[Entry]:
    rows = selectors.entries(actor.workspace_id)
    if chosen["actor"]:
        person = Membership.objects.filter(
            workspace_id=actor.workspace_id, person__username=chosen["actor"]
        ).values_list("person_id", flat=True)
        # By id where there is one, which an index finds; a command's entries carry a name alone.
        rows = rows.filter(actor_id=person[0]) if person else rows.filter(actor_name=chosen["actor"])
    if chosen["action"]:
        if chosen["action"] not in ACTIONS:
            raise Refusal("bad_request", "There is no such act; choose one of the list.", place="action")
        rows = rows.filter(action=chosen["action"])
    if chosen["subject"]:
        rows = rows.filter(subject_kind__in=SUBJECTS, subject_id__in=_subjects(actor, chosen["subject"]))
    start, end = _day(chosen["from"], "from"), _day(chosen["to"], "to")
    if start:
        rows = rows.filter(at__gte=start)
    # After the last day there is no other to stop at.
    if end and end.date() < date.max:
        rows = rows.filter(at__lt=end + timedelta(days=1))
    return rows


def _subjects(actor: Actor, words: str) -> list[str]:
    """The ids that somebody may mean: an id itself, CR-12, or documents whose name has these words in it."""
    found = [words.lower()]
    if number := re.fullmatch(r"(?i)cr-(\d{1,9})", words):
        found += _ids(ChangeRequest.objects.filter(workspace_id=actor.workspace_id, number=int(number[1])))
    else:
        documents = Document.objects.filter(workspace_id=actor.workspace_id, label__icontains=words)
        ids = list(documents.order_by("label", "pk").values_list("pk", flat=True)[:MOST_SUBJECTS])
        held = ChangeRequest.objects.filter(items__document__in=ids).distinct().order_by("-number")
        found += [str(pk) for pk in ids] + _ids(held)
    return found


def _ids(requests: QuerySet[ChangeRequest]) -> list[str]:
    return [str(pk) for pk in requests.values_list("pk", flat=True)[:MOST_SUBJECTS]]


def _chosen(request: HttpRequest) -> dict[str, str]:
    return {name: request.GET.get(name, "").replace("\0", "").strip()[:200] for name in FILTERS}


@require_safe
@in_workspace
def entries(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Entries, newest first; `check=1` reads the chain from first to last."""
    chosen = _chosen(request)
    page = pagination.keyset_page(
        _filtered(actor, chosen),
        ["-number", "id"],
        cursor=request.GET.get("cursor"),
        limit=pagination.DEFAULT_LIMIT,
    )
    return render(
        request,
        "audit/list.html",
        {
            "actor": actor,
            "page": page,
            "rows": [(row, json.loads(row.text).get("details", {})) for row in page.rows],
            "sentences": ACTIONS,
            "chosen": chosen,
            "is_filtered": any(chosen.values()),
            "head": selectors.head(actor.workspace_id),
            "verdict": selectors.verdict(actor.workspace_id, actor.workspace_key) if request.GET.get("check") else None,
            "people": Membership.objects.filter(workspace_id=actor.workspace_id)
            .order_by("person__username")
            .values_list("person__username", flat=True)[:200],
        },
    )


@require_safe
@in_workspace
def entry(request: HttpRequest, actor: Actor, number: int) -> HttpResponse:
    """One entry with the exact text that was hashed."""
    found = selectors.entries(actor.workspace_id).filter(number=number).first() if number < 2**63 else None
    if found is None:
        raise Refusal("not_found", "There is no entry with this number in this workspace's trail.")
    return render(
        request,
        "audit/entry.html",
        {"actor": actor, "entry": found, "sentence": ACTIONS.get(found.action, found.action)},
    )


@require_safe
@in_workspace
def export(request: HttpRequest, actor: Actor) -> HttpResponse:
    """The filtered trail as JSON Lines, oldest first, each line with the exact hashed text."""
    rows = _filtered(actor, _chosen(request)).order_by("number")

    def lines() -> Iterator[str]:
        for row in rows.iterator(chunk_size=500):
            line: dict[str, Any] = {
                "number": row.number,
                "text": row.text,
                "digest": row.digest,
                "previous_digest": row.previous_digest,
            }
            yield json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n"

    response = StreamingHttpResponse(lines(), content_type="application/jsonl; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="audit-{actor.workspace_key}.jsonl"'
    return cast(HttpResponse, response)
