from __future__ import annotations

import pytest
from django.test import Client

pytestmark = pytest.mark.urls("tests.web.urls")


def test_a_theme_is_kept_by_the_browser_and_set_before_the_first_paint() -> None:
    client = Client()
    response = client.post("/preferences/", {"theme": "dark", "next": "/whole/?a=1"})
    assert (response.status_code, response["Location"]) == (303, "/whole/?a=1")
    assert '<html lang="en" data-theme="dark"' in client.get("/whole/").content.decode()


def test_the_system_decides_until_somebody_chose() -> None:
    assert "data-theme" not in Client().get("/whole/").content.decode()


def test_an_odd_choice_is_refused_and_nothing_kept() -> None:
    response = Client().post("/preferences/", {"theme": "neon", "single_keys": "off"})
    assert (response.status_code, response.cookies) == (400, {})


def test_an_odd_cookie_counts_as_not_chosen() -> None:
    client = Client()
    client.cookies["salvor_theme"] = '"><script>'
    assert "data-theme" not in client.get("/whole/").content.decode()


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", ""])
def test_choosing_never_leads_to_another_site(elsewhere: str) -> None:
    assert Client().post("/preferences/", {"theme": "dark", "next": elsewhere})["Location"] == "/"


def test_choosing_takes_a_form_of_ours() -> None:
    assert Client(enforce_csrf_checks=True).post("/preferences/", {"theme": "dark"}).status_code == 403
    assert Client().get("/preferences/").status_code == 405
