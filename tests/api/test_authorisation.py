"""Every route of `/api` with every token: each of the cast, each scope, a runtime, another workspace, nobody."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace
from tests.api.callers import Caller, as_person, as_runtime, told
from tests.api.routes import ROUTES, RUNTIMES
from tests.people.factories import Cast
from tests.routes import EVERYBODY, Route
from tests.runtimes.factories import a_runtime
from tests.scene import Scene, make_scene

pytestmark = pytest.mark.django_db

GUARDED = [route for route in ROUTES if not route.is_public]
SCOPES = ("read", "draft", "decide")
#: Drafting is an author's; what is not drafting decides.
DRAFTING = frozenset({"api:change_requests", "api:withdraw", "api:revisions"})


def ident(route: Route) -> str:
    return f"{route.method} {route.name}"


@pytest.fixture
def scene(workspace: Workspace, cast: Cast, kim: Actor) -> Scene:
    return make_scene(workspace, cast, kim)


def send(caller: Caller, route: Route, scene: Scene) -> Any:
    path = reverse(route.name, kwargs=route.kwargs(scene))
    return caller.get(path) if route.method == "GET" else caller.post(path, route.form(scene))


def actor(scene: Scene, name: str) -> Actor:
    return scene.kim if name == "kim" else scene.cast.actor(name)


@pytest.mark.parametrize("route", GUARDED, ids=ident)
def test_a_route_answers_whoever_may_and_nobody_else(route: Route, scene: Scene) -> None:
    assert told(send(Caller(None), route, scene)) == (401, "unauthorized")
    for name in sorted(EVERYBODY - route.may):
        status, code = told(send(as_person(actor(scene, name)), route, scene))
        assert (status, code) in {(403, "not_allowed"), (403, "own_revision")}, name
    runtime = send(as_runtime(a_runtime(admin=scene.workspace, name="asker")), route, scene)
    assert runtime.status_code == (200 if route.name in RUNTIMES else 403)
    for name in sorted(route.may)[: 1 if route.method == "POST" else None]:
        assert send(as_person(actor(scene, name)), route, scene).status_code == (route.status or 200), name


@pytest.mark.parametrize("route", GUARDED, ids=ident)
def test_what_is_another_workspaces_is_not_there(route: Route, scene: Scene) -> None:
    response = send(as_person(scene.kim), route, scene)
    if "pk" in route.kwargs(scene):
        assert told(response) == (404, "not_found")
    elif route.method == "GET":
        shown = response.json()
        assert shown.get("results", shown.get("client_tools")) == []


@pytest.mark.parametrize("route", GUARDED, ids=ident)
def test_a_scope_that_does_not_reach_is_refused(route: Route, scene: Scene) -> None:
    needed = "read" if route.method == "GET" else "draft" if route.name in DRAFTING else "decide"
    for scope in SCOPES[: SCOPES.index(needed)]:
        response = send(as_person(actor(scene, sorted(route.may)[0]), scope), route, scene)
        assert told(response) == (403, "not_allowed")
        assert scope in response.json()["error"]["message"]
    reached = send(as_person(actor(scene, sorted(route.may)[0]), needed), route, scene)
    assert reached.status_code == (route.status or 200)


@pytest.mark.parametrize("route", [route for route in GUARDED if route.method == "POST"], ids=ident)
def test_a_route_that_writes_does_nothing_on_get(route: Route, scene: Scene) -> None:
    if any(other.name == route.name and other.method == "GET" for other in GUARDED):
        return
    response = as_person(actor(scene, sorted(route.may)[0])).get(reverse(route.name, kwargs=route.kwargs(scene)))
    assert told(response) == (405, "method_not_allowed")
