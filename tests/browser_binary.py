"""A Chromium for the browser tests: one that is here, else Debian's, else Playwright's. Prints its path.

python -m tests.browser_binary
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
APT = ["apt-get", "-o", "DPkg::Lock::Timeout=300"]


class NoBrowser(Exception):
    """No browser, and none to be had; the message says what to do."""


def works(program: str) -> bool:
    """A browser that can say its version can start; a stub or one that misses a library cannot."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return said.returncode == 0 and "chrom" in said.stdout.lower()


def named() -> str | None:
    """The one SALVOR_CHROMIUM names; a name that leads nowhere is refused, not passed over."""
    program = os.environ.get("SALVOR_CHROMIUM", "").strip()
    if program and not works(program):
        raise NoBrowser(f"SALVOR_CHROMIUM names {program}, which does not start; name a Chromium, or unset it.")
    return program or None


def on_path() -> str | None:
    for name in NAMES:
        program = shutil.which(name)
        if program is not None and works(program):
            return program
    return None


def from_debian() -> str | None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    _say("installing Debian's chromium")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for step in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        # An index that is half out of date still installs; whether it did is asked of the browser.
        subprocess.run([*APT, *step], env=environment, stdout=sys.stderr, stdin=subprocess.DEVNULL, check=False)
    return on_path()


def from_playwright() -> str | None:
    found = _playwrights()
    if found is not None:
        return found
    _say("downloading Playwright's chromium")
    extra = ["--with-deps"] if os.geteuid() == 0 and shutil.which("apt-get") else []
    subprocess.run(
        [sys.executable, "-m", "playwright", "install", *extra, "chromium"],
        stdout=sys.stderr,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return _playwrights()


def _playwrights() -> str | None:
    asked = "from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.chromium.executable_path)"
    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=False)
    program = said.stdout.strip()
    return program if program and works(program) else None


def _say(what: str) -> None:
    print(f"No Chromium here: {what}.", file=sys.stderr, flush=True)


WAYS: tuple[Callable[[], str | None], ...] = (named, on_path, from_debian, from_playwright)


def provide(ways: tuple[Callable[[], str | None], ...] = WAYS) -> str:
    """The path of a Chromium that starts, installed if need be, or `NoBrowser`."""
    with open(Path(tempfile.gettempdir()) / f"salvor-browser-{os.geteuid()}.lock", "a") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        for way in ways:
            program = way()
            if program is not None:
                return program
    raise NoBrowser(
        "No browser for the tests: install Chromium (Debian: apt-get install chromium; elsewhere: "
        ".venv/bin/playwright install --with-deps chromium), or name one in SALVOR_CHROMIUM."
    )


if __name__ == "__main__":
    try:
        print(provide())
    except NoBrowser as error:
        sys.exit(str(error))
