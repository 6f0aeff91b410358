"""`manage.py up` as a whole: what it starts, and what a SIGKILL of everything costs."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from salvor_admin.engines import Engines
from salvor_admin.engines.processes import Sighting, sighting, wait_until
from salvor_admin.home.supervisor import left_overs
from tests.engines.conftest import ask, tell

CHECKOUT = Path(__file__).resolve().parents[2]
PID_FILES = ("up", "web", "worker", "beat", "postgres", "valkey")
# Generous, for a machine that is busy with other tests; every wait ends as soon as it can.
SECONDS = 120


class Installation:
    """One state folder and the `up` that runs for it."""

    def __init__(self, folder: Path) -> None:
        self.state_dir = folder / "state"
        self.log = folder / "up.log"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SALVOR_")}
        self.environment |= {
            "SALVOR_STATE_DIR": str(self.state_dir),
            "SALVOR_STATIC_ROOT": str(folder / "static"),
            "SALVOR_ENGINE_DIR": os.environ["SALVOR_ENGINE_DIR"],
        }
        self.up: subprocess.Popen[bytes] | None = None

    def command(self, *words: str) -> list[str]:
        return [sys.executable, str(CHECKOUT / "manage.py"), *words]

    def start(self) -> str:
        """Starts it, and returns what it said once it is ready."""
        with open(self.log, "wb") as log:
            self.up = subprocess.Popen(
                self.command("up", "--port", "0"), env=self.environment, stdout=log, stderr=log, cwd=CHECKOUT
            )
        up = self.up
        assert wait_until(lambda: "is ready" in self.said() or up.poll() is not None, SECONDS), self.said()
        assert up.poll() is None, self.said()
        assert wait_until(lambda: len(self.running()) == len(PID_FILES), SECONDS), self.said()
        return self.said()

    def said(self) -> str:
        return self.log.read_text()

    def url(self) -> str:
        found = re.search(r"ready: (\S+)", self.said())
        assert found is not None
        return found[1]

    def running(self) -> dict[str, Sighting]:
        found = {}
        for name in PID_FILES:
            try:
                seen = sighting(int((self.state_dir / f"{name}.pid").read_text().split()[0]))
            except (OSError, ValueError, IndexError):
                continue
            if seen is not None:
                found[name] = seen
        return found

    def kill_everything(self) -> None:
        engines = Engines(self.state_dir)
        every = [*self.running().values(), *left_overs(engines.state)]
        for seen in every:
            seen.send(signal.SIGKILL)
        assert self.up is not None
        self.up.wait()
        assert all(seen.wait_gone(10) for seen in every)

    def end(self) -> None:
        if self.up is not None and self.up.poll() is None:
            self.up.send_signal(signal.SIGTERM)
            self.up.wait(SECONDS)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("up"))
    yield made
    made.end()
    engines = Engines(made.state_dir)
    assert engines.stop()
    engines.state.forget()


def test_after_a_kill_of_everything_up_starts_cleanly_and_nothing_confirmed_is_lost(installation):
    first = installation.start()
    assert len(re.findall(r"one-time password: \S+", first)) == 1
    assert urllib.request.urlopen(installation.url() + "readyz", timeout=30).status == 200
    killed = installation.running()
    database = Engines(installation.state_dir).urls().database_url
    tell(database, "CREATE TABLE confirmed AS SELECT 7 AS n")
    installation.kill_everything()

    second = installation.start()
    assert "one-time password" not in second
    assert urllib.request.urlopen(installation.url() + "readyz", timeout=30).status == 200
    assert ask(database, "SELECT n FROM confirmed") == (7,)
    assert not set(killed.values()) & set(installation.running().values())

    refused = subprocess.run(
        installation.command("up"), env=installation.environment, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 1
    assert f"up already for {installation.state_dir} (pid {installation.running()['up'].pid})" in refused.stderr
    assert len(installation.running()) == len(PID_FILES)

    installation.end()
    assert installation.up.returncode == 0
    assert installation.running() == {}
    assert left_overs(Engines(installation.state_dir).state) == []
    assert list(installation.state_dir.glob("*.pid")) == []


def test_a_port_somebody_listens_on_is_refused_and_nothing_stays_behind(installation):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = subprocess.run(
            installation.command("up", "--port", port),
            env=installation.environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert refused.returncode == 1
    assert f"127.0.0.1 port {port} cannot be listened on" in refused.stderr
    assert "--port" in refused.stderr
    assert installation.running() == {}
