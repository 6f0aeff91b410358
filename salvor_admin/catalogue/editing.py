"""Drafting a client tool, as fields or as TOML, with the rules' own words beside what was typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from salvor_admin.catalogue import selectors, spelling, trying
from salvor_admin.catalogue.forms import FieldsForm, TomlForm
from salvor_admin.catalogue.spelling import Draft
from salvor_admin.domain import client_tools
from salvor_admin.domain.findings import client_tools as findings
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.review import Kind
from salvor_admin.domain.rights import Role
from salvor_admin.people.access import Actor
from salvor_admin.people.pages import in_workspace
from salvor_admin.reviews import selectors as reviews
from salvor_admin.reviews import services as reviews_services
from salvor_admin.reviews.models import Revision
from salvor_admin.reviews.services import Source, WantedItem

#: What a button of the page asks for. `check` is the first one, so that Enter in a field writes nothing.
ACTS: Final = ("check", "try", "as_toml", "as_fields", "save", "submit")
_NOT_AT_A_FIELD: Final = frozenset({"not_allowed", "change_open", "wrong_state"})


@require_http_methods(["GET", "HEAD", "POST"])
@in_workspace
def new_tool(request: HttpRequest, actor: Actor) -> HttpResponse:
    """A client tool that is not there yet."""
    return _page(request, actor, None)


@require_http_methods(["GET", "HEAD", "POST"])
@in_workspace
def edit_tool(request: HttpRequest, actor: Actor, document_id: UUID) -> HttpResponse:
    """The next revision of a client tool, begun from its newest one."""
    found = selectors.client_tool(actor, document_id)
    newest = Revision.objects.filter(document=found).select_related("document").order_by("-number").first()
    return _page(request, actor, newest)


@require_POST
@in_workspace
def check(request: HttpRequest, actor: Actor) -> HttpResponse:
    """What the rules say about what is typed, for a page with script; writes nothing."""
    form, draft = _typed(request)
    return render(request, "catalogue/_checked.html", _judged(form, draft))


def _is_toml(request: HttpRequest) -> bool:
    if request.method == "POST":
        return "toml" in request.POST
    return request.GET.get("as") == "toml"


def _typed(request: HttpRequest) -> tuple[FieldsForm | TomlForm, Draft]:
    """The form as it was sent, its faults at its fields."""
    if _is_toml(request):
        toml_form = TomlForm(request.POST)
        toml_form.is_valid()
        draft = spelling.read_toml(_without_returns(toml_form.cleaned_data.get("toml", "")))
        for fault in draft.faults:
            toml_form.add_error("toml", fault.message)
        return toml_form, draft
    form = FieldsForm(request.POST)
    form.is_valid()
    draft = spelling.read_fields(request.POST)
    for key, faults in draft.by_key().items():
        if "effect" in form.errors and key == "effect":
            del form.errors["effect"]
        for fault in faults:
            form.add_error(key or None, fault.message)
    return form, draft


def _without_returns(text: str) -> str:
    # Browsers send CRLF; what the author wrote had plain line ends.
    return text.replace("\r\n", "\n")


def _judged(form: FieldsForm | TomlForm, draft: Draft) -> dict[str, Any]:
    """What the page shows beside the fields: faults, what reviewers will see, what the ledger would say."""
    sample = trying.Sample(
        form["sample_input"].value() or "",
        form["sample_report"].value() or "",
        bool(form["sample_is_failure"].value()),
    )
    return {
        "form": form,
        "draft": draft,
        "is_toml": isinstance(form, TomlForm),
        "findings": findings.find(draft.tool) if draft.tool else [],
        "sample": sample,
        "steps": trying.tried(draft.tool, sample) if draft.tool and sample.is_given else [],
    }


def _page(request: HttpRequest, actor: Actor, revision: Revision | None) -> HttpResponse:
    if request.method != "POST":
        begun = _begun(request, revision)
        draft = spelling.read_toml(begun["toml"]) if "toml" in begun else spelling.read_fields(begun)
        form = TomlForm(initial=begun) if "toml" in begun else FieldsForm(initial=begun)
        return _rendered(request, actor, revision, form, draft)
    act = request.POST.get("act", "submit" if request.POST.get("reason", "").strip() else "save")
    if act not in ACTS:
        raise Refusal("bad_request", f"There is no act {act!r} here; use one of the buttons.", place="act")
    form, draft = _typed(request)
    if act in {"as_toml", "as_fields"}:
        return _other_way(request, actor, revision, form, draft)
    if act in {"save", "submit"} and not draft.faults:
        try:
            request_id = _save(actor, form, draft, revision, submit=act == "submit", begun=request.POST)
        except Refusal as refusal:
            if refusal.code in _NOT_AT_A_FIELD:
                raise
            form.add_error(refusal.place if refusal.place in form.fields else None, refusal.message)
        else:
            return redirect("reviews:change_request", workspace=actor.workspace_key, request_id=request_id)
    return _rendered(request, actor, revision, form, draft, status=422 if form.errors else 200)


def _begun(request: HttpRequest, revision: Revision | None) -> dict[str, Any]:
    """What the page opens with."""
    if revision is None:
        return {"toml": ""} if _is_toml(request) else {"effect": "write"}
    members, kept = spelling.members_of(revision), spelling.kept_toml(revision)
    if _is_toml(request):
        return {"toml": spelling.toml_of(members, kept)}
    return {**spelling.fields_of(members), "kept_toml": kept}


def _other_way(
    request: HttpRequest, actor: Actor, revision: Revision | None, form: FieldsForm | TomlForm, draft: Draft
) -> HttpResponse:
    """The same draft written the other way; where that would lose something, the page stays and says what."""
    carried = {name: form[name].value() for name in ("reason", "sample_input", "sample_report", "sample_is_failure")}
    other: FieldsForm | TomlForm
    try:
        if isinstance(form, TomlForm):
            _refuse_unreadable(draft)
            text = _without_returns(form["toml"].value() or "")
            other = FieldsForm(initial={**spelling.fields_of(draft.members), "kept_toml": text, **carried})
            draft = spelling.read_fields(other.initial)
        else:
            _refuse_unreadable(draft)
            text = spelling.toml_of(draft.members, _without_returns(form["kept_toml"].value() or ""))
            other = TomlForm(initial={"toml": text, **carried})
            draft = spelling.read_toml(text)
    except Refusal as refusal:
        form.add_error(None, refusal.message)
        return _rendered(request, actor, revision, form, draft, status=422)
    return _rendered(request, actor, revision, other, draft)


#: Faults that mean something typed has no place on the other side.
_LOST: Final = frozenset(
    {"unknown_key", "wrong_type", "unknown_effect", "no_json_value", "bad_request", "unstorable_text"}
)


def _refuse_unreadable(draft: Draft) -> None:
    for fault in draft.faults:
        if fault.code in _LOST or fault.code in {"not_toml", "not_utf8", "too_deep"}:
            raise Refusal(
                fault.code,
                f"Written the other way something would be lost: {fault.message} Correct it first, or stay here.",
            )


@transaction.atomic
def _save(
    actor: Actor,
    form: FieldsForm | TomlForm,
    draft: Draft,
    revision: Revision | None,
    *,
    submit: bool,
    begun: Mapping[str, Any],
) -> UUID:
    assert draft.tool is not None  # a draft without faults declares a tool
    tool = draft.tool
    if revision is not None and tool.name != revision.document.label:
        raise Refusal(
            "name_changed",
            f"This edits {revision.document.label}, and the name is now {tool.name}. Draft a new tool for another name.",
            place="name",
        )
    reason = str(form.cleaned_data.get("reason", "")).strip()
    if submit:
        reason = reviews_services.needed_reason(reason)
    raw = _without_returns(form.cleaned_data["toml"]).encode() if isinstance(form, TomlForm) else None
    # A new tool begins from nothing: sent twice, or under a name that is taken, it is no revision of what is there.
    begun_from = "0" if revision is None else str(begun.get("begun_from", ""))
    saved = reviews_services.save_revision(
        actor=actor,
        kind=Kind.CLIENT_TOOL.value,
        body=client_tools.to_document(tool),
        source=Source("form", "", raw),
        begun_from=int(begun_from)
        if begun_from.isascii() and begun_from.isdecimal() and len(begun_from) < 10
        else None,
    )
    held = reviews.open_request_of(saved.document_id)
    if held is not None:
        if submit:
            reviews_services.submit(request_id=held.pk, actor=actor, reason=reason)
        return held.pk
    return reviews_services.open_change_request(
        actor=actor, items=[WantedItem(saved.document_id)], reason=reason, submit=submit
    ).pk


def _rendered(
    request: HttpRequest,
    actor: Actor,
    revision: Revision | None,
    form: FieldsForm | TomlForm,
    draft: Draft,
    *,
    status: int = 200,
) -> HttpResponse:
    return render(
        request,
        "catalogue/edit.html",
        {
            "actor": actor,
            "revision": revision,
            "open_request": reviews.open_request_of(revision.document_id) if revision else None,
            "may_draft": actor.has(Role.AUTHOR),
            "check_url": reverse("catalogue:check", args=[actor.workspace_key]),
            **_judged(form, draft),
        },
        status=status,
    )
