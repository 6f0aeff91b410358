"""What pages do to calls: each POST one service, then back to a page that reads the truth anew."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST

from salvor_admin.domain.client_tools import ABSENT
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.settling import JudgeBy, Outcome
from salvor_admin.ledger import declarations
from salvor_admin.people.access import Actor
from salvor_admin.people.pages import in_workspace
from salvor_admin.settlement import access, detail, evidence, forms, presenting, selectors, services, views
from salvor_admin.settlement.detail import CallDetail
from salvor_admin.settlement.forms import AnswerForm
from salvor_admin.settlement.models import Settlement
from salvor_admin.web.clock import database_now
from salvor_admin.web.refusals_page import Step, refused

DRIVER_TICK = "driver_attached_ok"


@require_POST
@in_workspace
def claim(request: HttpRequest, actor: Actor, intent_id: UUID) -> HttpResponse:
    services.claim_case(intent_id=intent_id, actor=actor)
    return _to_call(request, actor, intent_id)


@require_POST
@in_workspace
def release(request: HttpRequest, actor: Actor, intent_id: UUID) -> HttpResponse:
    services.release_case(intent_id=intent_id, actor=actor)
    messages.success(request, "The case is released; anybody may claim it.")
    return _to_call(request, actor, intent_id)


@require_POST
@in_workspace
def hand_over(request: HttpRequest, actor: Actor, intent_id: UUID) -> HttpResponse:
    handed = services.hand_over_case(intent_id=intent_id, actor=actor, to=request.POST.get("to", "").strip())
    messages.success(request, f"{handed.person.name or handed.person.username} holds the case now.")
    return _to_call(request, actor, intent_id)


@require_POST
@in_workspace
def answer(request: HttpRequest, actor: Actor, intent_id: UUID) -> HttpResponse:
    """Settles, abandons or leaves unknown, as the form says; a refused form comes back with every word in it."""
    found = detail.call_detail(actor, intent_id, now=database_now())
    judge_by = forms.judge_by(request.POST)
    form = AnswerForm(views.answer_form(actor, found, judge_by), request.POST, ticks=request.POST.getlist("permanent"))
    try:
        _refuse_other_form(request, actor, found, judge_by)
        settlement = _give(request, actor, found, form, judge_by)
    except Refusal as refusal:
        return _refused(request, actor, found, form, refusal)
    if settlement is None:
        return views.call_page(request, actor, intent_id, form=form, status=422)
    return _after(request, actor, found, settlement)


@require_POST
@in_workspace
def note(request: HttpRequest, actor: Actor, intent_id: UUID) -> HttpResponse:
    evidence.add_note(intent_id=intent_id, actor=actor, text=request.POST.get("text", ""))
    return _to_call(request, actor, intent_id, "#history")


@require_POST
@in_workspace
def add_evidence(request: HttpRequest, actor: Actor, intent_id: UUID) -> HttpResponse:
    """A file, a link or a text; each given one is added."""
    file, link, text = request.FILES.get("file"), request.POST.get("link", ""), request.POST.get("text", "")
    if file is not None:
        evidence.add_evidence_file(intent_id=intent_id, actor=actor, file=file)
    if link.strip():
        evidence.add_evidence(intent_id=intent_id, actor=actor, link=link)
    if text.strip() or (file is None and not link.strip()):
        evidence.add_evidence(intent_id=intent_id, actor=actor, text=text)
    return _to_call(request, actor, intent_id, "#evidence")


@require_POST
@in_workspace
def discard(request: HttpRequest, actor: Actor, intent_id: UUID) -> HttpResponse:
    evidence.discard_text(intent_id=intent_id, actor=actor)
    return _to_call(request, actor, intent_id)


@require_POST
@in_workspace
def activity(request: HttpRequest, actor: Actor, intent_id: UUID) -> HttpResponse:
    """This person has the call open; when they type, their claim is extended and their words are kept.

    Answers the bar that says who holds the case.
    """
    is_editing = request.POST.get("editing") == "1"
    evidence.note_presence(intent_id=intent_id, actor=actor, is_editing=is_editing)
    if is_editing and access.may_settle(actor):
        evidence.keep_text(intent_id=intent_id, actor=actor, fields=forms.keepable(request.POST))
        claim_id = _whole(request.POST.get("claim", ""))
        if claim_id is not None:
            services.extend_claim(intent_id=intent_id, actor=actor, claim_id=claim_id)
    now = database_now()
    row = selectors.rows_of(actor, [access.intent_with_case(actor, intent_id)], now=now)[0]
    context = {
        "actor": actor,
        "now": now,
        "row": row,
        "stamp": presenting.stamp(row),
        "holding": presenting.holding(row, now=now),
        "shown_claim": request.POST.get("claim", ""),
    }
    return render(request, "settlement/_holding.html", context)


# --- an answer, step by step -----------------------------------------------------------------------------------------


def _give(
    request: HttpRequest, actor: Actor, found: CallDetail, form: AnswerForm, judge_by: JudgeBy
) -> Settlement | None:
    """The settlement that the form asks for; None when a field says nothing that could be taken."""
    outcome = Outcome(form.outcome)
    form.has_reason()
    intent_id, claim_id = found.intent.pk, _whole(request.POST.get("claim", ""))
    driver_ok = bool(request.POST.get(DRIVER_TICK))
    reason, code = form.reason, form.text("reason_code")
    if outcome is Outcome.STILL_UNKNOWN:
        at = form.look_again()
        if form.faults or at is None:
            return None
        return services.leave_unknown(
            intent_id=intent_id, actor=actor, reason=reason, reason_code=code, look_again_at=at, claim_id=claim_id
        )
    if outcome is Outcome.WILL_NOT_HAPPEN:
        form.names_tool(found.intent.tool)
        if form.faults:
            return None
        return services.abandon_call(
            intent_id=intent_id,
            actor=actor,
            reason=reason,
            reason_code=code,
            claim_id=claim_id,
            driver_attached_ok=driver_ok,
        )
    form.ticked()
    output = form.output() if outcome is Outcome.LANDED else ABSENT
    error = form.error() if outcome is Outcome.FAILED else None
    if form.faults:
        return None
    return services.settle_call(
        intent_id=intent_id,
        actor=actor,
        outcome=outcome,
        output=output,
        error=error,
        reason=reason,
        reason_code=code,
        judge_by=judge_by,
        claim_id=claim_id,
        driver_attached_ok=driver_ok,
    )


def _refuse_other_form(request: HttpRequest, actor: Actor, found: CallDetail, judge_by: JudgeBy) -> None:
    """Fields are named by their place in the schema, so a form made from another revision is not read."""
    revision = found.intent.revision_id
    if judge_by is JudgeBy.LIVE:
        declared = declarations.live_declaration(actor.workspace_id, found.intent.tool)
        revision = declared.revision_id if declared else 0
    if _whole(request.POST.get("revision", "")) != revision:
        raise Refusal(
            "stale_base",
            "Another revision has become live since this form was made, so its fields were not read. Look at the new "
            "form and fill it in again.",
        )


def _refused(request: HttpRequest, actor: Actor, found: CallDetail, form: AnswerForm, refusal: Refusal) -> HttpResponse:
    """Nothing was written. What was typed is kept, shown back, and offered again."""
    if refusal.code in {"not_allowed", "not_found"}:
        raise refusal
    is_open = access.intent(actor, found.intent.pk).standing == "open"
    if is_open and access.may_settle(actor):
        evidence.keep_text(intent_id=found.intent.pk, actor=actor, fields=forms.keepable(request.POST))
    if refusal.code == "bad_request" and refusal.place == "output" and form.uses_raw:
        form.faults["raw"] = refusal.message
    if not is_open:
        step = Step("See what was recorded", _call_url(request, actor, found.intent.pk))
        return refused(request, refusal, next_steps=[step])
    status = {"bad_request": 422}.get(refusal.code)
    return views.call_page(request, actor, found.intent.pk, form=form, refusal=refusal, status=status or 409)


def _after(request: HttpRequest, actor: Actor, found: CallDetail, settlement: Settlement) -> HttpResponse:
    advance = bool(request.POST.get("advance"))
    wanted = forms.read_filter(request.GET)
    query = wanted.query()
    following = selectors.next_call(actor, wanted, after=found.intent, now=database_now()) if advance else None
    answered = settlement.outcome != Outcome.STILL_UNKNOWN.value
    if answered and not advance:
        response = _redirect("settlement:receipt", actor, query, intent_id=found.intent.pk)
    else:
        if answered:
            query["done"] = str(found.intent.pk)
        else:
            at = settlement.look_again_at
            messages.success(
                request,
                f"Left unknown. {found.intent.tool} comes back to the inbox {f'at {at:%Y-%m-%d %H:%M} UTC' if at else ''}.",
            )
        if following is not None:
            response = _redirect("settlement:call", actor, query, intent_id=following)
        else:
            response = _redirect("settlement:inbox", actor, query)
    response.set_cookie(
        views.ADVANCE_COOKIE,
        "on" if advance else "off",
        max_age=365 * 86400,
        samesite="Lax",
        httponly=True,
        secure=request.is_secure(),
    )
    return response


def _redirect(route: str, actor: Actor, query: dict[str, str], **names: object) -> HttpResponseRedirect:
    address = reverse(route, kwargs={"workspace": actor.workspace_key, **names})
    response = HttpResponseRedirect(f"{address}?{urlencode(query)}" if query else address)
    response.status_code = 303
    return response


def _call_url(request: HttpRequest, actor: Actor, intent_id: UUID, place: str = "") -> str:
    address = reverse("settlement:call", kwargs={"workspace": actor.workspace_key, "intent_id": intent_id})
    query = urlencode(forms.read_filter(request.GET).query())
    return f"{address}?{query}{place}" if query else f"{address}{place}"


def _to_call(request: HttpRequest, actor: Actor, intent_id: UUID, place: str = "") -> HttpResponse:
    response = HttpResponseRedirect(_call_url(request, actor, intent_id, place))
    response.status_code = 303
    return response


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
