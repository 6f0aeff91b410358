from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.http import HttpRequest
from django.test import Client, RequestFactory

from salvor_admin.web import layout
from salvor_admin.web.layout import Account, Count, Place, WorkspaceLink, frame, register_place

pytestmark = pytest.mark.urls("tests.web.urls")

GRACE = Account(
    name="Grace <Okafor>",
    initials="GO",
    username="grace",
    roles=("reviewer",),
    sign_out_url="/sign-out/",
    settings_url=None,
    workspaces=(WorkspaceLink("payments-eu", "Payments EU", "/w/payments-eu/", True),),
)


@pytest.fixture(autouse=True)
def empty_frame(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(layout, "_places", [])
    monkeypatch.setattr(layout, "_account_of", [lambda request: GRACE])
    yield


def place(label: str, order: int, url: str | None, **more: object) -> Place:
    return Place(label, "inbox", order, lambda request: url, **more)  # type: ignore[arg-type]


def shown(path: str) -> list[tuple[str, str]]:
    shell = frame(RequestFactory().get(path))["shell"]
    return [(entry.label, entry.current) for entry in shell.nav]


def test_places_stand_in_their_order_and_hidden_ones_nowhere() -> None:
    register_place(place("Reviews", 3, "/w/a/reviews/"))
    register_place(place("Home", 1, "/w/a/", exact=True))
    register_place(place("People", 2, None))
    assert shown("/w/a/reviews/7/") == [("Home", ""), ("Reviews", "true")]
    assert shown("/w/a/") == [("Home", "page"), ("Reviews", "")]


def test_a_place_registered_again_stands_once() -> None:
    register_place(place("Home", 1, "/a/"))
    register_place(place("Home", 1, "/b/"))
    assert shown("/b/") == [("Home", "page")]


def test_the_frame_shows_counts_with_their_noun_and_names_as_text() -> None:
    register_place(place("Inbox", 1, "/inbox/", count=lambda request: Count(100, "calls waiting", more=True)))
    page = Client().get("/whole/").content.decode()
    assert '<span class="count">100+<span class="unseen"> calls waiting</span></span>' in page
    assert "Grace &lt;Okafor&gt;" in page
    assert 'data-person="grace"' in page


def test_a_fragment_asks_nobody_for_counts() -> None:
    def never(request: HttpRequest) -> Count:
        raise AssertionError("a fragment asked for a count")

    register_place(place("Inbox", 1, "/inbox/", count=never))
    assert Client().get("/whole/", headers={"HX-Request": "true"}).status_code == 200


def test_a_frame_that_cannot_be_drawn_still_lets_the_error_be_told() -> None:
    def broken(request: HttpRequest) -> Count:
        raise RuntimeError("the database is away")

    register_place(place("Inbox", 1, "/inbox/", count=broken))
    response = Client().get("/refuse/wrong_state/")
    assert response.status_code == 409
    assert "<code>wrong_state</code>" in response.content.decode()
