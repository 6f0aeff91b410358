"""Private engines for one pytest session: named before the settings load, started at the first test that needs them."""

from __future__ import annotations

import atexit
import fcntl
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from salvor_admin.engines import Engines, EngineUrls
from salvor_admin.engines.processes import wait_until
from salvor_admin.engines.state import CHECKOUT

PREFIX = "salvor-tests-"
_held: list[Any] = []


def _session_folder() -> Path:
    """A folder that other sessions can see is in use, for as long as this process lives."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    # As root the engines' account must pass through; the state inside stays closed.
    folder.chmod(0o711)
    alive = open(folder / "alive.new", "w")  # noqa: SIM115
    fcntl.flock(alive, fcntl.LOCK_EX)
    (folder / "alive.new").rename(folder / "alive")
    _held.append(alive)
    return folder


def _sweep() -> None:
    """Stop the engines of sessions that were killed before they could."""
    for alive in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/alive"):
        try:
            if alive.stat().st_uid != os.geteuid():
                continue
            with open(alive) as theirs:
                fcntl.flock(theirs, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _end(alive.parent)
        except OSError:
            continue


def _end(folder: Path) -> None:
    engines = Engines(folder / "state", durable=False)
    # Workers that are just ending may hold the engines for another moment.
    if wait_until(engines.stop, 20):
        engines.state.forget()
        shutil.rmtree(folder, ignore_errors=True)


def _begin() -> None:
    folder = _session_folder()
    # What the caller's shell sets for an installation is not for tests.
    for name in re.findall(r'"(SALVOR_[A-Z_]+)"', (CHECKOUT / "salvor_admin" / "settings.py").read_text()):
        os.environ.pop(name, None)
    os.environ["SALVOR_STATE_DIR"] = str(folder / "state")
    os.environ["SALVOR_ENGINE_DIR"] = str(folder / "engines")
    (folder / "staticfiles").mkdir()
    os.environ["SALVOR_STATIC_ROOT"] = str(folder / "staticfiles")
    os.environ["SALVOR_SECRET_KEY"] = "only-for-tests-" + "0123456789abcdef" * 4
    urls = Engines(durable=False).urls()
    os.environ["SALVOR_DATABASE_URL"] = urls.database_url
    os.environ["SALVOR_REDIS_URL"] = urls.redis_url
    owner = os.getpid()
    atexit.register(lambda: _end(folder) if os.getpid() == owner else None)
    _sweep()


if "PYTEST_XDIST_WORKER" not in os.environ:
    _begin()

_engines = Engines(durable=False)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> None:
    """Whoever asks for the database gets it started; a run of pure tests starts nothing."""
    if fixturedef.argname in {"django_db_setup", "engine_urls"}:
        _engines.ensure()


@pytest.fixture(scope="session")
def engine_urls() -> EngineUrls:
    """The running engines of this session, for tests that need one of them without Django's database."""
    return _engines.urls()
