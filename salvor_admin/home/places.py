"""The navigation: which places there are, and how much waits in them."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from django.urls import reverse

from salvor_admin.people.pages import account_of, actor_of
from salvor_admin.reviews import selectors as reviews
from salvor_admin.settlement import selectors as settlement
from salvor_admin.web.layout import Count, Place, register_account, register_place


def _in_workspace(route: str) -> Callable[[HttpRequest], str | None]:
    def url(request: HttpRequest) -> str | None:
        actor = actor_of(request)
        return reverse(route, args=[actor.workspace_key]) if actor else None

    return url


def _reviews_waiting(request: HttpRequest) -> Count | None:
    actor = actor_of(request)
    if actor is None:
        return None
    number, more = reviews.count_waiting(actor.workspace_id)
    return Count(number, "change requests waiting", more)


def _calls_waiting(request: HttpRequest) -> Count | None:
    actor = actor_of(request)
    if actor is None:
        return None
    number, more = settlement.count_waiting(actor.workspace_id)
    return Count(number, "calls waiting", more)


def register() -> None:
    """Registers the places of the house, and who is signed in."""
    register_account(account_of)
    register_place(Place("Home", "home", 10, _in_workspace("home:workspace"), go_key="h", exact=True))
    register_place(Place("Inbox", "inbox", 20, _in_workspace("settlement:inbox"), _calls_waiting, go_key="i"))
    register_place(Place("Reviews", "review", 30, _in_workspace("reviews:list"), _reviews_waiting, go_key="r"))
    register_place(Place("Tools", "catalogue", 40, _in_workspace("catalogue:tools"), go_key="t"))
    register_place(Place("Runtimes", "runtime", 70, _in_workspace("runtimes:list"), go_key="n"))
    register_place(Place("Audit", "audit", 80, _in_workspace("home:audit"), go_key="a"))
    register_place(Place("People", "people", 90, _in_workspace("people:people"), go_key="p"))
