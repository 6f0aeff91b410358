"""Who is asking for a page: the signed-in person, in the workspace that the address names."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from salvor_admin.people import access
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Person
from salvor_admin.web.layout import Account, WorkspaceLink
from salvor_admin.web.sessions import signed_in

P = ParamSpec("P")


def person_of(request: HttpRequest) -> Person:
    """The signed-in person; only for views behind `signed_in`."""
    return cast(Person, request.user)


def in_workspace(
    view: Callable[Concatenate[HttpRequest, Actor, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, str, P], HttpResponse]:
    """A page of one workspace: signed in, past the one-time password, and a member; else as if it were not there."""

    @wraps(view)
    def guarded(request: HttpRequest, /, workspace: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if person_of(request).must_change_password:
            return redirect("people:change_password")
        actor = access.actor_in(person_of(request), workspace, via="page")
        request.actor = actor  # type: ignore[attr-defined]
        return view(request, actor, *args, **kwargs)

    return cast("Callable[Concatenate[HttpRequest, str, P], HttpResponse]", signed_in(guarded))


def actor_of(request: HttpRequest) -> Actor | None:
    """The actor a page was opened as; None outside a workspace."""
    return getattr(request, "actor", None)


def account_of(request: HttpRequest) -> Account | None:
    """Who is signed in, and their workspaces, for the frame of pages."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated or user.must_change_password:
        return None
    person = cast(Person, user)
    actor = actor_of(request)
    here = actor.workspace.key if actor else None
    return Account(
        name=person.name or person.username,
        initials=person.initials,
        username=person.username,
        roles=tuple(sorted(role.value for role in actor.roles)) if actor else (),
        sign_out_url=reverse("people:sign_out"),
        settings_url=reverse("people:settings", args=[here]) if here else None,
        workspaces=tuple(
            WorkspaceLink(
                key=membership.workspace.key,
                name=membership.workspace.name,
                url=reverse("home:workspace", args=[membership.workspace.key]),
                current=membership.workspace.key == here,
            )
            for membership in access.workspaces_of(person)
        ),
    )
