"""Calls that wait, made as a runtime makes them."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any

from salvor_admin.domain.events import Envelope, Event, Kind
from salvor_admin.domain.ledger import Failure, ReportRefused, ToolAsk
from salvor_admin.ledger import leases
from salvor_admin.ledger import services as ledger
from salvor_admin.ledger.models import Intent, Run
from salvor_admin.ledger.scenes import Door, hashed
from salvor_admin.runtimes.models import Runtime
from tests.people.factories import Cast
from tests.reviews.factories import a_published_tool
from tests.runtimes.factories import a_runtime, a_runtime_token

INPUT = {"order_id": "ORD-7781", "amount_cents": 5000}
OUTPUT = {"provider_refund_id": "re_3PqT81Kd9f", "amount_cents": 5000}


@dataclass
class Driver:
    """A runtime that drives one run, through the services of the ledger."""

    token: str
    run_id: str
    drive_token: str
    seq: int = 0

    @property
    def door(self) -> Door:
        return Door(hashed(self.token), self.run_id, self.drive_token)

    @property
    def run(self) -> Run:
        return Run.objects.get(run_id=self.run_id)

    def append(self, kind: Kind, **payload: Any) -> None:
        ledger.append_events(self.door, [Envelope(self.run_id, self.seq, 1, Event(kind, payload))])
        self.seq += 1

    def ask(self, tool: str = "refund_card", input: Any = None) -> Intent:
        ledger.record_intent(self.door, ToolAsk(self.seq, tool, INPUT if input is None else input))
        self.seq += 1
        return Intent.objects.get(run=self.run, seq=self.seq - 1)

    def report(self, output: Any, *, seq: int | None = None) -> str | None:
        """Reports a completion; the code it was refused with, if it was."""
        at = self.seq - 1 if seq is None else seq
        is_error = isinstance(output, Failure)
        body = json.dumps({"seq": at, "output": None if is_error else output}).encode()
        try:
            ledger.record_completion(self.door, ledger.ToolReport(at, output, body))
        except ReportRefused as refusal:
            return refusal.code
        self.seq += 1
        return None

    def release(self) -> None:
        leases.release_run(self.door)


def a_driver(runtime: Runtime, *, token: str = "", run_id: str = "") -> Driver:
    """A run opened and begun by this runtime."""
    run_id = run_id or str(uuid.uuid4())
    token = token or a_runtime_token(runtime=runtime)
    fresh = uuid.uuid4().hex
    opened = leases.open_run(Door(hashed(token), run_id, None), fresh_token=fresh, record_prompts=False)
    driver = Driver(token, run_id, opened.drive_token)
    driver.append(Kind.RUN_STARTED, agent_def_hash="sha256:" + "5" * 64, input={"thread": "order-7781"})
    return driver


def a_tool(cast: Cast, **changes: Any) -> None:
    """`refund_card`, or what it becomes with these changes, published."""
    a_published_tool(author=cast.actor("ada"), reviewer=cast.actor("grace"), publisher=cast.actor("pat"), **changes)


def the_runtime(cast: Cast, name: str = "checkout-eu-2") -> Runtime:
    known = Runtime.objects.filter(workspace=cast.workspace, name=name).first()
    return known or a_runtime(admin=cast.workspace, name=name)


def a_waiting_call(
    cast: Cast, *, input: Any = None, report: Any = None, tool: str = "refund_card", attached: bool = False
) -> Intent:
    """A call in a run of its own whose report was refused, so that it waits now; its driver is gone unless `attached`."""
    driver = a_driver(the_runtime(cast))
    intent = driver.ask(tool, input)
    code = driver.report({"provider_refund_id": "re_1", "amount_cents": 4800} if report is None else report)
    assert code is not None
    if not attached:
        driver.release()
    intent.refresh_from_db()
    return intent
