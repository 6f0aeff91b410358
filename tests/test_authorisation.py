"""Every route, every member of the cast, own and other workspace: from the URL map, so that none can be missing."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace
from tests.people.factories import Cast
from tests.routes import EVERYBODY, Route, collected, named_patterns
from tests.scene import Scene, make_scene

PAGES = [route for route in collected() if not route.name.startswith(("wire:", "api:"))]


def ident(route: Route) -> str:
    return f"{route.method} {route.name}"


@pytest.fixture
def scene(workspace: Workspace, cast: Cast, kim: Actor) -> Scene:
    return make_scene(workspace, cast, kim)


def send(scene: Scene, route: Route, name: str, workspace: str | None = None) -> Any:
    kwargs = route.kwargs(scene)
    if not route.is_public and not route.is_outside:
        kwargs = {"workspace": workspace or scene.workspace.key, **kwargs}
    path = reverse(route.name, kwargs=kwargs)
    client = scene.client(name)
    return (
        client.generic("POST", path)
        if route.method not in {"GET", "POST"}
        else getattr(client, route.method.lower())(path, route.form(scene))
    )


def test_every_route_of_the_url_map_has_a_case() -> None:
    mapped = {name for name, _ in named_patterns()}
    assert len(mapped) > 30
    assert mapped - {route.name for route in collected()} == set()


def test_every_case_names_a_route_of_the_url_map() -> None:
    assert {route.name for route in collected()} - {name for name, _ in named_patterns()} == set()


@pytest.mark.django_db
@pytest.mark.parametrize("route", PAGES, ids=ident)
def test_a_page_answers_whoever_may_and_nobody_else(route: Route, scene: Scene) -> None:
    usual = 200 if route.method == "GET" else 302
    wanted = route.status or usual
    if route.is_public:
        assert send(scene, route, "nobody").status_code == wanted
        return
    assert send(scene, route, "nobody").status_code in {302, 401}, "no session"
    if not route.is_outside:
        assert send(scene, route, "kim").status_code == 404, "another workspace's member"
        if route.kwargs(scene) and not route.is_numbered:
            assert send(scene, route, "kim", scene.kim.workspace_key).status_code == 404, "another workspace's id"
        for name in sorted(EVERYBODY - route.may):
            assert send(scene, route, name).status_code in {403, 404}, name
    for name in sorted(route.may)[: 1 if route.method == "POST" else None]:
        assert send(scene, route, name).status_code == wanted, name


@pytest.mark.django_db
@pytest.mark.parametrize("route", [route for route in PAGES if route.method == "POST"], ids=ident)
def test_a_route_that_writes_does_nothing_on_get(route: Route, scene: Scene) -> None:
    if any(other.name == route.name and other.method == "GET" for other in PAGES):
        return
    kwargs = route.kwargs(scene)
    if not route.is_public and not route.is_outside:
        kwargs = {"workspace": scene.workspace.key, **kwargs}
    assert scene.client(sorted(route.may)[0]).get(reverse(route.name, kwargs=kwargs)).status_code == 405
