"""The way in, on the real pages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from salvor_admin.people import services as people
from salvor_admin.people.models import Workspace
from tests.browser.pages import Visit, axe, too_wide


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (320, True)])
@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_a_one_time_password_leads_to_ones_own_and_wrong_ones_are_told(
    visit: Callable[..., Visit], workspace: Workspace, width: int, dark: bool, script: bool
) -> None:
    made = people.create_person(username="noor", name="Noor Haddad", roles=["settler"], actor=people.Shell(workspace))
    page = visit(width=width, dark=dark, script=script).goto("/sign-in/")
    assert not script or axe(page) == []
    page.get_by_label("Username").fill("noor")
    page.get_by_label("Password").fill("a guess")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("do not match")
    expect(page.get_by_label("Password")).to_have_value("")
    assert not script or axe(page) == []
    page.get_by_label("Password").fill(made.one_time_password or "")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Choose your own password")
    page.get_by_label("New password").fill("a long enough password")
    page.get_by_label("The same again").fill("another long password")
    page.get_by_role("button", name="Change the password").click()
    expect(page.get_by_role("alert")).to_contain_text("The two differ")
    assert not script or (axe(page) == [] and not too_wide(page))
