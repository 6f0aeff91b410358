"""One window of a browser, as a person of the cast sees the console."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, ConsoleMessage, Page

from salvor_admin.people.access import Actor

STANDARD = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Chromium writes each failed request to the console; pages answer 4xx on purpose and show them.
_EXPECTED = ("Failed to load resource", "Response Status Error Code")


class Visit:
    """A window with its page, its person signed in, and what the page complained of."""

    def __init__(
        self,
        browser: Browser,
        site: str,
        actor: Actor | None = None,
        *,
        width: int = 1280,
        height: int = 800,
        dark: bool = False,
        script: bool = True,
    ) -> None:
        self.site = site
        self.complaints: list[str] = []
        self.context = browser.new_context(
            base_url=site,
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
        )
        self.context.set_default_timeout(10_000)
        if actor is not None:
            self.sign_in(actor)
        self.page: Page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.complaints.append(f"script failed: {error}"))
        self.page.on("console", self._listen)

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(_EXPECTED):
            self.complaints.append(message.text)

    def sign_in(self, actor: Actor) -> None:
        """A session of this person, without the sign-in page, which has tests of its own."""
        client = Client()
        client.force_login(actor.person)
        cookie = client.cookies[settings.SESSION_COOKIE_NAME]
        self.context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": self.site}])

    def goto(self, path: str) -> Page:
        """Opens a path; answers 4xx and 5xx are pages too."""
        self.page.goto(path)
        return self.page

    def close(self) -> None:
        self.context.close()


def axe(page: Page) -> list[str]:
    """What the accessibility checker holds against the page, one line a rule; empty when nothing."""
    found: dict[str, Any] = Axe().run(page, options={"runOnly": {"type": "tag", "values": STANDARD}}).response
    return [
        f"{rule['id']}: {rule['help']}: {', '.join(str(node['target']) for node in rule['nodes'][:3])}"
        for rule in found["violations"]
    ]


def too_wide(page: Page) -> bool:
    """Whether the page scrolls sideways; only a `.table-box` may."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def screenshot(page: Page, name: str, *, whole: bool = False) -> Path:
    """Writes a picture outside the repository: SALVOR_SCREENSHOTS, else the system's temporary folder."""
    folder = Path(os.environ.get("SALVOR_SCREENSHOTS") or Path(tempfile.gettempdir()) / "salvor-screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    page.screenshot(path=path, full_page=whole)
    return path
