"""Pages of calls: the inbox, one call, its receipt, its run, and what somebody answered. Reading changes nothing."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django.core.files.storage import default_storage
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseNotModified
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from salvor_admin.domain import output_form
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role
from salvor_admin.domain.settling import JudgeBy
from salvor_admin.ledger import declarations
from salvor_admin.people import access as people_access
from salvor_admin.people.access import Actor
from salvor_admin.people.pages import in_workspace
from salvor_admin.settlement import access, detail, forms, presenting, run_page, selectors
from salvor_admin.settlement.detail import CallDetail
from salvor_admin.settlement.forms import AnswerForm
from salvor_admin.settlement.selectors import CallFilter, CallPage
from salvor_admin.web import pagination
from salvor_admin.web.clock import database_now
from salvor_admin.web.htmx import HtmxRequest, render_page, wants_fragment

ADVANCE_COOKIE = "salvor_advance"


@require_safe
@in_workspace
def inbox(request: HttpRequest, actor: Actor) -> HttpResponse:
    """What waits, by due time; the filter, the page and the chosen call stand in the address."""
    wanted = forms.read_filter(request.GET)
    now = database_now()
    chosen = forms.read_uuid(request.GET.get("call", ""))
    context: dict[str, Any] = {"actor": actor, "now": now, "wanted": wanted, "query": urlencode(wanted.query())}
    if wants_fragment(request) and _target(request) == "desk-case" and chosen is not None:
        context["detail"] = detail.call_detail(actor, chosen, now=now)
        return render_page(request, "settlement/_preview.html", None, context | _preview(context["detail"], actor))
    limit = pagination.read_limit(request.GET.get("limit"))
    page = selectors.calls(actor, wanted, now=now, cursor=request.GET.get("cursor"), limit=limit)
    context |= _list(actor, page, wanted)
    context["chosen"] = chosen
    if chosen is not None:
        context["detail"] = detail.call_detail(actor, chosen, now=now)
        context |= _preview(context["detail"], actor)
    context["done"] = _done(request, actor)
    return _conditional(request, render_page(request, "settlement/inbox.html", "settlement/_list.html", context))


def _list(actor: Actor, page: CallPage, wanted: CallFilter) -> dict[str, Any]:
    waiting, more_waiting = (
        (page.matching, page.more) if wanted == CallFilter() else selectors.count_waiting(actor.workspace_id)
    )
    return {
        "page": page,
        "rows": page.rows,
        "waiting": waiting,
        "more_waiting": more_waiting,
        "chips": [(key, words, urlencode(replace(wanted, state=key).query())) for key, words in presenting.STATE_CHIPS],
        "tools": selectors.tools_of(actor),
        "runtimes": selectors.runtimes_of(actor),
        "sought": presenting.sought(wanted),
        "shown_ids": ",".join(row.intent.pk.hex for row in page.rows),
        "last_decided_at": selectors.last_decided_at(actor) if not page.rows else None,
    }


def _preview(found: CallDetail, actor: Actor) -> dict[str, Any]:
    return {
        "stamp": presenting.stamp(found.row),
        "holding": presenting.holding(found.row, now=found.now),
        "why_not": why_not(actor),
    }


@require_safe
@in_workspace
def changes(request: HttpRequest, actor: Actor) -> HttpResponse:
    """What changed since a list was drawn: told beside the rows, which stay where they are until somebody asks."""
    wanted = forms.read_filter(request.GET)
    now = database_now()
    shown = [found for text in request.GET.get("rows", "").split(",")[:200] if (found := forms.read_uuid(text))]
    page = selectors.calls(actor, wanted, now=now, cursor=request.GET.get("cursor"), limit=max(len(shown), 50))
    here = {row.intent.pk for row in page.rows}
    old = access.intents(actor).filter(pk__in=shown).select_related("run__last_driver", "runtime", "revision", "case")
    rows = selectors.rows_of(actor, list(old), now=now)
    context = {
        "actor": actor,
        "now": now,
        "query": urlencode(wanted.query()),
        "arrived": len(here - set(shown)),
        "left": len(set(shown) - here),
        "page": page,
        "notes": [(row, presenting.row_note(row, now=now)) for row in rows],
    }
    body = render_to_string("settlement/_changes.html", context, request=request)
    return _conditional(request, HttpResponse(body))


@require_safe
@in_workspace
def call(request: HttpRequest, actor: Actor, intent_id: UUID) -> HttpResponse:
    """One call: read left, answer right."""
    return call_page(request, actor, intent_id)


def call_page(
    request: HttpRequest,
    actor: Actor,
    intent_id: UUID,
    *,
    form: AnswerForm | None = None,
    refusal: Refusal | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page of a call, with an answer's form as it was sent when it was refused."""
    now = database_now()
    wanted = forms.read_filter(request.GET)
    found = detail.call_detail(actor, intent_id, now=now)
    judge_by = forms.judge_by(request.GET)
    live = declarations.live_declaration(actor.workspace_id, found.intent.tool)
    if form is None:
        kept = found.kept.fields if found.kept is not None and found.is_open else {}
        form = AnswerForm(answer_form(actor, found, judge_by), kept)
    query = wanted.query()
    before, after = selectors.neighbours(actor, wanted, of=found.intent, now=now)
    context = {
        "actor": actor,
        "now": now,
        "detail": found,
        "row": found.row,
        "stamp": presenting.stamp(found.row),
        "standings": [
            (view, [(field, presenting.STANDINGS[field.standing]) for field in view.fields]) for view in found.reports
        ],
        "history": presenting.history(found, me=actor.person_id),
        "holding": presenting.holding(found.row, now=now),
        "form": form,
        "refusal": refusal,
        "why_not": why_not(actor),
        "settlers": selectors.settlers(actor) if found.row.is_mine else [],
        "judge_by": judge_by.value,
        "revision_id": live.revision_id if judge_by is JudgeBy.LIVE and live else found.intent.revision_id,
        "may_judge_by_live": live is not None and live.revision_id != found.intent.revision_id,
        "is_live_gone": live is None,
        "twins": [(twin, presenting.stamp(twin)) for twin in found.twins],
        "query": urlencode(query),
        "before": before,
        "after": after,
        "advance": request.COOKIES.get(ADVANCE_COOKIE) == "on",
        "waited": presenting.waited(found.row),
        "done": _done(request, actor),
        "tool_shown": found.intent.tool,
    }
    return render_page(request, "settlement/call.html", None, context, status=status)


def answer_form(actor: Actor, found: CallDetail, judge_by: JudgeBy) -> output_form.OutputForm:
    """The form of an output by the revision that will judge it."""
    tool = found.tool
    if judge_by is JudgeBy.LIVE:
        declared = declarations.live_declaration(actor.workspace_id, found.intent.tool)
        if declared is None:
            raise Refusal(
                "wrong_state",
                f"No revision of {found.intent.tool} is live now, so none can judge. Judge by the one it was asked under.",
            )
        tool = declared.tool
    return output_form.form_of(tool, found.input)


@require_safe
@in_workspace
def receipt(request: HttpRequest, actor: Actor, intent_id: UUID) -> HttpResponse:
    """What the ledger says after an answer."""
    now = database_now()
    wanted = forms.read_filter(request.GET)
    found = detail.call_detail(actor, intent_id, now=now)
    read = detail.receipt(actor, intent_id)
    context = {
        "actor": actor,
        "now": now,
        "detail": found,
        "row": found.row,
        "stamp": presenting.stamp(found.row),
        "receipt": read,
        "reason": presenting.reason(read.settlement),
        "outcome": presenting.OUTCOMES[read.settlement.outcome],
        "history": presenting.history(found, me=actor.person_id),
        "waited": presenting.waited(found.row),
        "query": urlencode(wanted.query()),
        "next_call": selectors.next_call(actor, wanted, after=found.intent, now=now),
        "waiting": selectors.count_waiting(actor.workspace_id),
        "twins": [(twin, presenting.stamp(twin)) for twin in found.twins if twin.is_open],
        "is_mine": read.settlement.person_id == actor.person_id,
    }
    return render_page(request, "settlement/receipt.html", None, context)


@require_safe
@in_workspace
def history(request: HttpRequest, actor: Actor) -> HttpResponse:
    """What the person who asks has answered in this workspace."""
    page = selectors.settlements_of(
        actor,
        actor.person,
        cursor=request.GET.get("cursor"),
        limit=pagination.read_limit(request.GET.get("limit")),
    )
    rows = [
        (row, presenting.OUTCOMES[row.outcome], presenting.reason(row), selectors.read_subject(row.case.intent.subject))
        for row in page.rows
        if row.case.intent is not None
    ]
    context = {"actor": actor, "page": page, "rows": rows}
    return render_page(request, "settlement/history.html", None, context)


@require_safe
@in_workspace
def run(request: HttpRequest, actor: Actor, run_id: UUID) -> HttpResponse:
    """One run: its log, what stands beside it, its leases, and its state as of any position."""
    show = request.GET.get("show", "all")
    if show not in run_page.SHOWS:
        raise Refusal("bad_request", f"There is no view {show[:40]!r}; use {', '.join(run_page.SHOWS)}.", place="show")
    now = database_now()
    page = run_page.run_page(
        actor, str(run_id), show=show, start=_position(request, "from"), as_of=_position(request, "as_of"), now=now
    )
    context = {
        "actor": actor,
        "now": now,
        "page": page,
        "show": show,
        "shows": [
            ("all", "All"), ("events", "Events only"), ("tools", "Tool calls"), ("beside", "Beside the log"),
        ],
        "calls": [(row, presenting.stamp(row)) for row in page.calls],
    }  # fmt: skip
    return render_page(request, "settlement/run.html", None, context)


@require_safe
@in_workspace
def evidence_file(request: HttpRequest, actor: Actor, evidence_id: UUID) -> HttpResponse:
    """A file somebody added, as a download and never as a page."""
    row = access.evidence(actor, evidence_id)
    if row.kind != "file":
        raise Refusal("not_found", "This evidence is no file; it stands on the page of its call.")
    response = FileResponse(
        default_storage.open(row.stored_as, "rb"),
        as_attachment=True,
        filename=row.file_name,
        content_type=row.content_type,
    )
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["Cache-Control"] = "private, no-store"
    return cast(HttpResponse, response)


# --- what pages share ------------------------------------------------------------------------------------------------


def why_not(actor: Actor) -> str:
    """Why this actor may not answer; empty when they may."""
    try:
        people_access.require(actor, Role.SETTLER, "answer a call")
    except Refusal as refusal:
        return refusal.message
    return ""


def _done(request: HttpRequest, actor: Actor) -> detail.Receipt | None:
    """The receipt of the call just answered, when the address names one."""
    intent_id = forms.read_uuid(request.GET.get("done", ""))
    if intent_id is None:
        return None
    try:
        return detail.receipt(actor, intent_id)
    except Refusal:
        return None


def _position(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise Refusal("bad_request", f"{name} is a position in the log: a whole number from 0.", place=name)
    return int(text)


def _target(request: HttpRequest) -> str | None:
    return cast(HtmxRequest, request).htmx.target


def _conditional(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """A fragment with its ETag, or 304 when whoever asks has this very one."""
    if not wants_fragment(request):
        return response
    etag = f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
    if request.headers.get("If-None-Match") == etag:
        unchanged = HttpResponseNotModified()
        unchanged["ETag"] = etag
        return unchanged
    response["ETag"] = etag
    return response
