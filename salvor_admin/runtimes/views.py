"""The board of runtimes, one runtime, and its tokens."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role
from salvor_admin.people.access import Actor
from salvor_admin.people.pages import in_workspace
from salvor_admin.reviews import selectors as reviews
from salvor_admin.runtimes import access, selectors, services
from salvor_admin.runtimes.forms import RuntimeForm, RuntimeTokenForm
from salvor_admin.runtimes.services import NewRuntimeToken
from salvor_admin.web import pagination


@require_safe
@in_workspace
def runtimes(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Every runtime, what it has loaded, and since when it is behind."""
    return _board(request, actor, RuntimeForm())


def _board(
    request: HttpRequest, actor: Actor, form: RuntimeForm, *, made: NewRuntimeToken | None = None, status: int = 200
) -> HttpResponse:
    page = pagination.keyset_page(
        selectors.runtimes(actor.workspace_id),
        ["name", "id"],
        cursor=request.GET.get("cursor"),
        limit=pagination.DEFAULT_LIMIT,
    )
    return render(
        request,
        "runtimes/list.html",
        {
            "actor": actor,
            "page": page,
            "rows": selectors.board(actor.workspace, page.rows),
            "publication": reviews.last_publication(actor.workspace_id),
            "form": form,
            "made": made,
            "may_administer": actor.has(Role.ADMIN),
        },
        status=status,
    )


@require_POST
@in_workspace
def register(request: HttpRequest, actor: Actor) -> HttpResponse:
    """A new runtime with its first token, which is in this answer alone."""
    form = RuntimeForm(request.POST)
    if not form.is_valid():
        return _board(request, actor, form, status=422)
    try:
        with transaction.atomic():
            runtime = services.register_runtime(actor=actor, **form.cleaned_data)
            made = services.create_runtime_token(runtime_id=runtime.pk, actor=actor, name="first")
    except Refusal as refusal:
        if refusal.place not in form.fields:
            raise
        form.add_error(refusal.place, refusal.message)
        return _board(request, actor, form, status=422)
    return _board(request, actor, RuntimeForm(), made=made, status=201)


@require_safe
@in_workspace
def runtime(request: HttpRequest, actor: Actor, runtime_id: UUID) -> HttpResponse:
    """One runtime and its tokens."""
    return _page(request, actor, runtime_id, RuntimeTokenForm())


def _page(
    request: HttpRequest,
    actor: Actor,
    runtime_id: UUID,
    form: RuntimeTokenForm,
    *,
    made: NewRuntimeToken | None = None,
    status: int = 200,
) -> HttpResponse:
    found = access.runtime(actor, runtime_id)
    (row,) = selectors.board(actor.workspace, [found])
    return render(
        request,
        "runtimes/runtime.html",
        {
            "actor": actor,
            "row": row,
            "runtime": found,
            "tokens": selectors.tokens_of(found),
            "form": form,
            "made": made,
            "may_administer": actor.has(Role.ADMIN),
        },
        status=status,
    )


@require_POST
@in_workspace
def change(request: HttpRequest, actor: Actor, runtime_id: UUID) -> HttpResponse:
    """Believing its labels, or retiring it."""
    wanted = request.POST.get("change", "")
    believed = {"believe": True, "doubt": False}.get(wanted)
    active = {"return": True, "retire": False}.get(wanted)
    if believed is None and active is None:
        raise Refusal("bad_request", "Choose what to change of this runtime.", place="change")
    row = services.change_runtime(runtime_id=runtime_id, actor=actor, labels_believed=believed, is_active=active)
    messages.success(request, f"{row.name} is changed.")
    return redirect("runtimes:runtime", workspace=actor.workspace_key, runtime_id=runtime_id)


@require_POST
@in_workspace
def create_token(request: HttpRequest, actor: Actor, runtime_id: UUID) -> HttpResponse:
    """One more token; it is in this answer alone."""
    form = RuntimeTokenForm(request.POST)
    if not form.is_valid():
        return _page(request, actor, runtime_id, form, status=422)
    days = form.cleaned_data["days"]
    made = services.create_runtime_token(
        runtime_id=runtime_id,
        actor=actor,
        name=form.cleaned_data["token_name"],
        lives=timedelta(days=days) if days else None,
    )
    return _page(request, actor, runtime_id, RuntimeTokenForm(), made=made, status=201)


@require_POST
@in_workspace
def revoke_token(request: HttpRequest, actor: Actor, token_id: int) -> HttpResponse:
    row = services.revoke_runtime_token(token_id=token_id, actor=actor)
    messages.success(request, f"The token “{row.name}” of {row.runtime.name} is revoked.")
    return redirect("runtimes:runtime", workspace=actor.workspace_key, runtime_id=row.runtime_id)
