"""The first page, and what machines ask to know whether this process lives."""

from __future__ import annotations

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe
from redis import Redis
from redis.exceptions import RedisError

from salvor_admin.domain.rights import Role
from salvor_admin.home import selectors
from salvor_admin.people import access
from salvor_admin.people import selectors as people
from salvor_admin.people.access import Actor
from salvor_admin.people.pages import in_workspace, person_of
from salvor_admin.web.sessions import signed_in


@require_safe
@signed_in
def start(request: HttpRequest) -> HttpResponse:
    """The person's first workspace, or a page that says there is none yet."""
    person = person_of(request)
    if person.must_change_password:
        return redirect("people:change_password")
    memberships = access.workspaces_of(person)
    if not memberships:
        return render(request, "home/no_workspace.html", {})
    return redirect("home:workspace", workspace=memberships[0].workspace.key)


@require_safe
@in_workspace
def workspace(request: HttpRequest, actor: Actor) -> HttpResponse:
    """What waits for this person, counted and named."""
    return render(
        request,
        "home/workspace.html",
        {
            "actor": actor,
            "waiting": selectors.waiting_for(actor),
            "gaps": people.role_gaps(people.members(actor.workspace_id)),
            "may_administer": actor.has(Role.ADMIN),
        },
    )


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """This process answers."""
    return HttpResponse("alive\n", content_type="text/plain")


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Database and migrations decide; the broker is reported, since no request needs it."""
    facts = {"database": _database(), "migrations": "unknown", "broker": _broker()}
    if facts["database"] == "ok":
        facts["migrations"] = _migrations()
    ready = facts["database"] == "ok" and facts["migrations"] == "ok"
    return JsonResponse({"ready": ready, **facts}, status=200 if ready else 503)


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        return "unreachable"
    return "ok"


def _migrations() -> str:
    executor = MigrationExecutor(connection)
    return "missing" if executor.migration_plan(executor.loader.graph.leaf_nodes()) else "ok"


def _broker() -> str:
    try:
        client = Redis.from_url(settings.REDIS_URL, socket_connect_timeout=1, socket_timeout=1)
        client.ping()
    except (RedisError, OSError):
        return "unreachable"
    return "ok"
