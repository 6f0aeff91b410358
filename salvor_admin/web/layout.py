"""The frame round every page: places, counts, workspace, person. Later apps register what they bring; pages are told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from salvor_admin.web import preferences
from salvor_admin.web.preferences import Preferences


@dataclass(frozen=True, slots=True)
class Count:
    """How much waits in a place, and of what; `more` when counting stopped there."""

    number: int
    noun: str
    more: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """One entry of the navigation. `url` returns None where this actor has no such place."""

    label: str
    icon: str
    order: int
    url: Callable[[HttpRequest], str | None]
    count: Callable[[HttpRequest], Count | None] | None = None
    go_key: str = ""
    exact: bool = False


@dataclass(frozen=True, slots=True)
class WorkspaceLink:
    """One of the person's workspaces."""

    key: str
    name: str
    url: str
    current: bool


@dataclass(frozen=True, slots=True)
class Account:
    """Who is signed in, as the frame shows it."""

    name: str
    initials: str
    username: str
    roles: tuple[str, ...]
    sign_out_url: str
    settings_url: str | None
    workspaces: tuple[WorkspaceLink, ...]

    @property
    def workspace(self) -> WorkspaceLink | None:
        return next((link for link in self.workspaces if link.current), None)


@dataclass(frozen=True, slots=True)
class NavEntry:
    """A place as one page shows it; `current` is `page` on the place itself, `true` on pages below it."""

    label: str
    icon: str
    url: str
    current: str
    count: Count | None
    go_key: str


@dataclass(frozen=True, slots=True)
class Shell:
    """What the frame of one page shows; without an account it is the frame of signed-out pages."""

    account: Account | None
    nav: tuple[NavEntry, ...]
    home_url: str


AccountProvider: TypeAlias = Callable[[HttpRequest], Account | None]

_places: list[Place] = []
_account_of: list[AccountProvider] = []


def register_place(place: Place) -> None:
    """Adds an entry to the navigation; once per label."""
    _places[:] = sorted([kept for kept in _places if kept.label != place.label] + [place], key=lambda each: each.order)


def register_account(provider: AccountProvider) -> None:
    """Says who is signed in, and their workspaces."""
    _account_of[:] = [provider]


def _current(place: Place, url: str, path: str) -> str:
    if path == url:
        return "page"
    return "true" if not place.exact and path.startswith(url) else ""


def _entries(request: HttpRequest) -> tuple[NavEntry, ...]:
    entries: list[NavEntry] = []
    for place in _places:
        url = place.url(request)
        if url is not None:
            count = place.count(request) if place.count else None
            current = _current(place, url, request.path)
            entries.append(NavEntry(place.label, place.icon, url, current, count, place.go_key))
    return tuple(entries)


def _shell(request: HttpRequest) -> Shell:
    account = _account_of[0](request) if _account_of else None
    home = account.workspace.url if account and account.workspace else "/"
    return Shell(account=account, nav=_entries(request) if account else (), home_url=home)


def plain_frame(request: HttpRequest) -> dict[str, Any]:
    """The frame without anything that asks the database."""
    return {
        "shell": Shell(account=None, nav=(), home_url="/"),
        "base_template": "base_plain.html",
        "now": getattr(request, "received_at", None),
        "preferences": preferences.of(request),
    }


def frame(request: HttpRequest) -> dict[str, Any]:
    """Context processor: `shell`, `now` (when the request came), `preferences`, `base_template`. Lazy: fragments pay nothing."""
    shell = SimpleLazyObject(lambda: _shell(request))

    def base_template() -> str:
        return "base.html" if shell.account else "base_plain.html"

    now: datetime | None = getattr(request, "received_at", None)
    chosen: Preferences = preferences.of(request)
    return {"shell": shell, "base_template": base_template, "now": now, "preferences": chosen}
