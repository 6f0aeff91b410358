"""Every page of the URL map: without accessibility faults in both themes, without script, on a narrow screen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.urls import reverse

from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace
from tests.browser.pages import Visit, axe, too_wide
from tests.people.factories import Cast
from tests.routes import Route, collected
from tests.scene import Scene, make_scene

pytestmark = pytest.mark.django_db(transaction=True)

PAGES = [route for route in collected() if route.is_page and route.method == "GET"]
#: Who opens a page: whoever has most to do on it.
OPENER = {"reviews": "grace", "catalogue": "ada", "settlement": "noor", "runtimes": "root", "people": "root"}


@pytest.fixture
def scene(workspace: Workspace, cast: Cast, kim: Actor) -> Scene:
    return make_scene(workspace, cast, kim)


def path_of(route: Route, scene: Scene) -> str:
    kwargs = route.kwargs(scene)
    if not route.is_public and not route.is_outside:
        kwargs = {"workspace": scene.workspace.key, **kwargs}
    return reverse(route.name, kwargs=kwargs)


def opened(scene: Scene, visit: Callable[..., Visit], **choices: object) -> list[tuple[Route, Visit]]:
    """Each page's route with a window of the person who opens it; windows are shared by person."""
    windows: dict[str, Visit] = {}
    found = []
    for route in PAGES:
        who = "nobody" if route.is_public else OPENER.get(route.name.split(":")[0], "root")
        if who not in windows:
            windows[who] = visit(None if who == "nobody" else scene.cast.actor(who), **choices)
        found.append((route, windows[who]))
    return found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_page_has_an_accessibility_fault(dark: bool, scene: Scene, visit: Callable[..., Visit]) -> None:
    faults = {route.name: axe(window.goto(path_of(route, scene))) for route, window in opened(scene, visit, dark=dark)}
    assert len(faults) > 15
    assert {name: found for name, found in faults.items() if found} == {}


def test_every_page_says_what_it_is_without_script(scene: Scene, visit: Callable[..., Visit]) -> None:
    heads = {}
    for route, window in opened(scene, visit, script=False):
        page = window.goto(path_of(route, scene))
        heads[route.name] = (page.locator("h1").count(), page.locator("main").count())
    assert {name: counted for name, counted in heads.items() if counted != (1, 1)} == {}


@pytest.mark.parametrize("width", [320, 1440])
def test_no_page_scrolls_sideways(width: int, scene: Scene, visit: Callable[..., Visit]) -> None:
    wide = [
        route.name
        for route, window in opened(scene, visit, width=width)
        if too_wide(window.goto(path_of(route, scene)))
    ]
    assert wide == []
