"""Every route of the house with a case each: who may, what it is sent. Apps keep theirs in `tests/<app>/routes.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from tests.scene import Scene

#: The people of the cast; `kim` is the outsider, `nobody` has no session or token.
EVERYBODY = frozenset({"ada", "grace", "pat", "noor", "root"})
APPS = ("web", "people", "home", "reviews", "catalogue", "runtimes", "settlement", "delivery", "wire", "api")


@dataclass(frozen=True)
class Route:
    """One route and method: who reaches it, and what it is sent."""

    name: str
    method: str = "GET"
    may: frozenset[str] = EVERYBODY
    kwargs: Callable[[Scene], dict[str, Any]] = field(default=lambda scene: {})
    form: Callable[[Scene], dict[str, Any]] = field(default=lambda scene: {})
    #: Open to anybody at all: no session is asked for.
    is_public: bool = False
    #: Signed in is enough: the route stands outside any workspace.
    is_outside: bool = False
    #: Answers a page that a browser shows; the axe and scripts-off tests open it.
    is_page: bool = True
    #: Named by a number of the workspace's own, which another workspace has as well.
    is_numbered: bool = False
    #: The status that somebody who may gets, where it is not the method's usual one.
    status: int | None = None


def collected() -> list[Route]:
    """The cases of every app."""
    found: list[Route] = []
    for app in APPS:
        found.extend(import_module(f"tests.{app}.routes").ROUTES)
    return found


def named_patterns(patterns: list[Any] | None = None, prefix: str = "", space: str = "") -> Iterator[tuple[str, str]]:
    """Each URL pattern as `namespace:name` and its path."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            inner = f"{space}{pattern.namespace}:" if pattern.namespace else space
            yield from named_patterns(list(pattern.url_patterns), path, inner)
        elif isinstance(pattern, URLPattern):
            yield f"{space}{pattern.name}", path
