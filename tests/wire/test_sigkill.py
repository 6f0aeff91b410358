"""SIGKILL of everything, engines included, in the middle of calls: what was acknowledged stands, once and in order."""

from __future__ import annotations

import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import salvor

from salvor_admin.engines import Engines
from salvor_admin.engines.processes import wait_until
from tests.engines.conftest import ask
from tests.engines.test_up import CHECKOUT, PID_FILES, SECONDS, Installation

ROUNDS = 10
DRIVERS = 4
#: How much is to be acknowledged in a round before the kill; differs, so that the kill falls into different places.
ENOUGH = (5, 40, 17, 60, 9, 33, 25, 50, 13, 29)

SET_UP = """
import sys
from tests.wire.stage import Stage
stage = Stage(is_migrated=True)
stage.declare({"refund_card.toml": sys.argv[1]}, "1")
print(stage.runtime_token)
"""
TOOL = """
name = "refund_card"
effect = "write"
trust_completion = true
idempotency_key = ["order_id"]
require_equal = ["order_id"]

[input_schema]
type = "object"
required = ["order_id"]

[output_schema]
type = "object"
required = ["order_id", "refund"]
"""


class Refused(Exception):
    """The server said no to what is right: a fault of ours, not of the kill."""


@dataclass
class Driver:
    """One run, driven round after round; remembers everything that it was told is done."""

    name: str
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    told: dict[int, dict[str, Any]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    drive_token: str | None = None
    fault: Exception | None = None

    def drive(self, base: str, token: str, stop: threading.Event, more: threading.Semaphore) -> None:
        """Calls until the connection breaks; a refusal is a fault."""
        try:
            with salvor.Client(base, token) as client:
                run = self.open(client, stop)
                if run is not None:
                    self.go_on(run, stop, more)
        except httpx.HTTPError:
            pass
        except salvor.SalvorAPIError as error:
            # Its database may die before the web server does, and be told of as our mistake.
            if error.status < 500:
                self.fault = error
        except Exception as error:
            self.fault = error

    def open(self, client: salvor.Client, stop: threading.Event) -> Any:
        while not stop.is_set():
            try:
                run = client.open_client_run(run_id=self.run_id, drive_token=self.drive_token)
            except salvor.LeaseHeldError:
                # An answer that never came held another token; it lapses within the second.
                stop.wait(0.1)
                continue
            self.drive_token = run.drive_token
            return run
        return None

    def go_on(self, run: Any, stop: threading.Event, more: threading.Semaphore) -> None:
        log = run.log_envelopes
        self.check(log)
        at = len(log)
        if at == 0:
            run.append([run.envelope(0, "RunStarted", agent_def_hash="sha256:desk", input=self.name)])
            self.told[0] = {"input": self.name}
            at = 1
        # The same questions in the same places: asked again where one stands open, or was never answered.
        at -= (at - 1) % 2
        while not stop.is_set():
            order = f"{self.name}-{at}"
            intent = run.client_tool_intent(at, "refund_card", {"order_id": order})
            if self.keys.setdefault(order, intent.idempotency_key) != intent.idempotency_key:
                raise Refused(f"another key for {order}")
            self.told[at] = {"tool": "refund_card", "input": {"order_id": order}}
            more.release()
            output = {"order_id": order, "refund": at}
            if not intent.settled:
                run.client_tool_completion(at, output)
            self.told[at + 1] = {"seq": at, "output": output}
            more.release()
            at += 2

    def check(self, log: list[Any]) -> None:
        """Nothing acknowledged is lost or changed, nothing stands twice, and there is no hole."""
        if [event.seq for event in log] != list(range(len(log))):
            raise Refused(f"{self.name}: positions {[event.seq for event in log]}")
        for seq, told in self.told.items():
            if seq >= len(log) or {key: log[seq].payload.get(key) for key in told} != told:
                raise Refused(f"{self.name}: position {seq} was acknowledged as {told}, and is not there")
        orders = [event.payload["input"]["order_id"] for event in log if event.kind == "ToolCallRequested"]
        closed = [event.payload["seq"] for event in log if event.kind == "ToolCallCompleted"]
        if len(set(orders)) != len(orders) or len(set(closed)) != len(closed):
            raise Refused(f"{self.name}: a call stands twice")
        if any("deduplicated_from" in event.payload for event in log):
            raise Refused(f"{self.name}: a call was asked for twice")


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    made = Installation(tmp_path)
    yield made
    made.end()
    engines = Engines(made.state_dir)
    assert wait_until(engines.stop, 20)
    engines.state.forget()


def set_up(installation: Installation) -> str:
    """The tool published, and a runtime's token."""
    urls = Engines(installation.state_dir).urls()
    environment = installation.environment | {
        "SALVOR_DATABASE_URL": urls.database_url,
        "SALVOR_REDIS_URL": urls.redis_url,
        "DJANGO_SETTINGS_MODULE": "salvor_admin.settings",
    }
    made = subprocess.run(
        [sys.executable, "-c", SET_UP, TOOL], cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    return made.stdout.split()[-1]


def test_a_kill_of_everything_loses_nothing_acknowledged_and_doubles_nothing(installation: Installation) -> None:
    installation.start()
    token = set_up(installation)
    drivers = [Driver(f"driver-{n}") for n in range(DRIVERS)]
    for enough in ENOUGH:
        stop, more = threading.Event(), threading.Semaphore(0)
        base = installation.url().rstrip("/")
        threads = [threading.Thread(target=driver.drive, args=(base, token, stop, more)) for driver in drivers]
        for thread in threads:
            thread.start()
        assert all(more.acquire(timeout=SECONDS) for _ in range(enough)), [driver.fault for driver in drivers]
        assert set(installation.running()) == set(PID_FILES)
        installation.kill_everything()
        stop.set()
        for thread in threads:
            thread.join(SECONDS)
        assert [driver.fault for driver in drivers] == [None] * DRIVERS
        installation.start()
    assert len(ENOUGH) == ROUNDS

    with salvor.Client(installation.url().rstrip("/"), token) as client:
        for driver in drivers:
            log = list(client.stream_events(driver.run_id))
            driver.check(log)
            assert len(log) in {max(driver.told) + 1, max(driver.told) + 2}, "at most what was on its way when killed"
    nothing_is_torn(Engines(installation.state_dir).urls().database_url)


def nothing_is_torn(database: str) -> None:
    """Rows that are written together stand together."""
    holes = "SELECT run_id FROM ledger_event GROUP BY run_id HAVING count(*) <> max(seq) + 1"
    heads = """
      SELECT r.id FROM ledger_run r LEFT JOIN ledger_event e ON e.run_id = r.id
      GROUP BY r.id HAVING r.next_seq <> count(e.seq)"""
    intents = """
      SELECT e.run_id, e.seq FROM ledger_event e LEFT JOIN ledger_intent i ON i.run_id = e.run_id AND i.seq = e.seq
      WHERE e.kind = 'ToolCallRequested' AND i.id IS NULL"""
    closed = """
      SELECT i.id FROM ledger_intent i LEFT JOIN ledger_event e ON e.run_id = i.run_id AND e.seq = i.seq + 1
      WHERE (i.standing = 'open') <> (e.seq IS NULL)"""
    for name, query in {"holes": holes, "heads": heads, "intents": intents, "closed": closed}.items():
        assert ask(database, f"SELECT count(*) FROM ({query}) found") == (0,), name
