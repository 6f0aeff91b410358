"""A Chromium for each session, and pages opened as one of the cast."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from salvor_admin.people.access import Actor
from tests import browser_binary
from tests.browser.pages import Visit


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    try:
        program = browser_binary.provide()
    except browser_binary.NoBrowser as none:
        pytest.exit(str(none), returncode=1)
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    patch = pytest.MonkeyPatch()
    # Playwright's own loop runs in this thread; Django would take it for ours and refuse the database.
    patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=program, args=[*sandbox, "--disable-background-networking", "--disable-component-update"]
        )
        yield started
        started.close()
    patch.undo()


@pytest.fixture
def visit(browser: Browser, live_server: Any) -> Iterator[Callable[..., Visit]]:
    """Opens a window: `visit(noor, width=360, dark=True, script=False)`. What the page complained of fails the test."""
    visits: list[Visit] = []

    def begin(actor: Actor | None = None, **choices: Any) -> Visit:
        visits.append(Visit(browser, live_server.url, actor, **choices))
        return visits[-1]

    yield begin
    complaints = [complaint for each in visits for complaint in each.complaints]
    for each in visits:
        each.close()
    assert complaints == []
