"""The demo's runtime against the real `/v1`: what it calls, where it stops, how it ends."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core import signals
from django.db import close_old_connections

from salvor_admin.domain.settling import Outcome
from salvor_admin.engines import State
from salvor_admin.engines.processes import wait_until
from salvor_admin.home import demo, demo_runtime
from salvor_admin.home.demo_runtime import Away, DemoRuntime, Life, Wire
from salvor_admin.ledger.models import Event, Intent, Run
from salvor_admin.people import access
from salvor_admin.people.models import Person
from salvor_admin.runtimes.models import Runtime
from salvor_admin.settlement import services
from salvor_admin.wsgi import application

NOBODY = "http://127.0.0.1:9"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def runtime(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]) -> Iterator[DemoRuntime]:
    """The demo's runtime on the demo's workspace; the application answers in this thread."""
    monkeypatch.setenv("SALVOR_STATE_DIR", str(tmp_path / "state"))
    demo.ensure_demo(tell=lambda line: None)
    token = State().remembered(demo.TOKEN_FILE)
    # The application answers inside the test's transaction, so its connection must outlive each answer.
    ends = (signals.request_started, signals.request_finished)
    for end in ends:
        end.disconnect(close_old_connections)
    with httpx.Client(
        transport=httpx.WSGITransport(app=application),
        base_url="http://127.0.0.1",
        headers={"Authorization": f"Bearer {token}"},
    ) as client:
        yield DemoRuntime(Wire(client), chance=random.Random(7), say=said.append)
    for end in ends:
        end.connect(close_old_connections)


def fixed(monkeypatch: pytest.MonkeyPatch, name: str, input: dict[str, Any], said: dict[str, Any]) -> None:
    monkeypatch.setattr(demo_runtime, "PERFORMS", {name: lambda chance: (input, said)})


def listing(runtime: DemoRuntime) -> dict[str, Any]:
    return {tool["name"]: tool for tool in runtime.wire.get("client-tools")["client_tools"]}


def kinds(run_id: str) -> list[str]:
    return list(Event.objects.filter(run__run_id=run_id).order_by("seq").values_list("kind", flat=True))


REFUND = {"order_id": "ORD-1", "amount_cents": 500}


def test_a_believed_call_ends_its_run(runtime: DemoRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    fixed(monkeypatch, "refund_card", REFUND, {"output": {"provider_refund_id": "re_1", "amount_cents": 500}})
    run_id = runtime.call("refund_card", listing(runtime))
    assert kinds(run_id) == ["RunStarted", "ToolCallRequested", "ToolCallCompleted", "RunCompleted"]
    assert Run.objects.get(run_id=run_id).lease_hash is None


def test_a_report_that_differs_is_refused_and_waits(runtime: DemoRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    fixed(monkeypatch, "refund_card", REFUND, {"output": {"provider_refund_id": "re_1", "amount_cents": 490}})
    with pytest.raises(demo_runtime.Refused) as refused:
        runtime.call("refund_card", listing(runtime))
    assert refused.value.code == "client_completion_refused"
    waiting = Intent.objects.get(refusals=1, subject__contains="ORD-1\\")
    assert (waiting.standing, kinds(str(waiting.run.run_id))) == ("open", ["RunStarted", "ToolCallRequested"])


def test_an_untrusted_call_is_never_reported(runtime: DemoRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    payout = {"reference": "PAY-1", "payee_iban": demo_runtime.PAYEES[0], "amount_cents": 1}
    fixed(monkeypatch, "wire_payout", payout, {"output": {}})
    run_id = runtime.call("wire_payout", listing(runtime))
    assert kinds(run_id) == ["RunStarted", "ToolCallRequested"]
    assert Intent.objects.get(run__run_id=run_id).refusals == 0


def test_what_a_person_settled_is_read_and_gone_on_with(runtime: DemoRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    payout = {"reference": "PAY-1", "payee_iban": demo_runtime.PAYEES[0], "amount_cents": 1}
    fixed(monkeypatch, "wire_payout", payout, {"output": {}})
    run_id = runtime.call("wire_payout", listing(runtime))
    noor = access.actor_in(Person.objects.get(username="noor"), "default", via="page")
    seen = {"bank_reference": "SEPA-1", "payee_iban": payout["payee_iban"], "amount_cents": 1}
    services.settle_call(
        intent_id=Intent.objects.get(run__run_id=run_id).pk,
        actor=noor,
        outcome=Outcome.LANDED,
        output=seen,
        reason="On the statement.",
    )
    runtime.turn()
    assert kinds(run_id) == ["RunStarted", "ToolCallRequested", "ToolCallCompleted", "RunCompleted"]
    ended = Event.objects.get(run__run_id=run_id, seq=3)
    assert '"bank_reference":"SEPA-1"' in ended.payload


def test_turns_call_every_tool_and_leave_no_run_held(runtime: DemoRuntime, said: list[str]) -> None:
    before = Run.objects.count()
    for _ in range(25):
        runtime.turn()
    assert Run.objects.count() == before + 25
    assert {"refund_card", "wire_payout", "order_status"} == set(Intent.objects.values_list("tool", flat=True))
    assert not Run.objects.filter(state="completed", lease_hash__isnull=False).exists()
    assert said == []
    assert Runtime.objects.get(name=demo.RUNTIME).loaded_publication == 1


def test_it_rests_while_enough_calls_wait_and_says_so_once(
    runtime: DemoRuntime, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_runtime, "MOST_WAITING", 1)
    before = Run.objects.count()
    runtime.turn()
    runtime.turn()
    assert Run.objects.count() == before
    assert said == ["1 calls wait for a person; no new ones until fewer do."]


def test_runs_of_other_clients_are_left_alone(runtime: DemoRuntime) -> None:
    foreign = demo_runtime.DrivenRun(runtime.wire, "0d5f4b7e-3c1a-4a2e-9b55-6f0c2a7d9e10")
    foreign.append("RunStarted", agent_def_hash=demo_runtime.AGENT, input={})
    foreign.release()
    runtime.turn()
    assert kinds(foreign.run_id) == ["RunStarted"]


def test_the_same_refusal_twice_is_told_once(runtime: DemoRuntime, said: list[str]) -> None:
    for _ in range(2):
        runtime._carefully(lambda: demo_runtime.DrivenRun(runtime.wire, "no uuid"))
    assert [line.split(":")[0] for line in said] == ["bad_request"]


def test_while_the_server_is_away_pauses_grow_and_it_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    said: list[str] = []
    life = Life()

    def rest(seconds: float) -> None:
        rests.append(seconds)
        life.leaving = len(rests) == 12

    monkeypatch.setattr(life, "rest", rest)
    with httpx.Client(base_url=NOBODY, transport=httpx.MockTransport(_unreachable)) as client:
        demo_runtime.live(life, DemoRuntime(Wire(client), chance=random.Random(7), say=said.append))
    assert rests == [1, 2, 4, 8, 16, *[demo_runtime.LONGEST_PAUSE] * 7]
    assert said == ["the server is away (no route); trying again until it is back."]


@pytest.mark.parametrize("answer", [httpx.Response(503), httpx.Response(404, text="<h1>elsewhere</h1>")])
def test_an_answer_that_is_none_of_the_wires_counts_as_away(answer: httpx.Response) -> None:
    with (
        httpx.Client(base_url=NOBODY, transport=httpx.MockTransport(lambda request: answer)) as client,
        pytest.raises(Away),
    ):
        Wire(client).get("client-tools")


def _unreachable(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("no route")


def started(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "salvor_admin.home.demo_runtime"],
        env={**os.environ, "SALVOR_STATE_DIR": str(folder), "SALVOR_DEMO_URL": NOBODY},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def catches_sigterm(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def test_it_ends_in_order_when_asked(tmp_path: Path) -> None:
    State(tmp_path).remember(demo.TOKEN_FILE, "srt_of_a_test")
    child = started(tmp_path)
    assert wait_until(lambda: catches_sigterm(child.pid), 20)
    child.terminate()
    out, err = child.communicate(timeout=20)
    assert (child.returncode, out, err) == (0, "", "")


def test_without_a_token_it_says_what_to_start(tmp_path: Path) -> None:
    child = started(tmp_path)
    out, err = child.communicate(timeout=20)
    assert (child.returncode, out) == (1, "")
    assert err == "demo: there is no token for the demo runtime; start it with `make demo`.\n"


def test_it_does_not_outlive_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    life = Life()
    assert life.goes_on
    monkeypatch.setattr(os, "getppid", lambda: 1 if life.parent != 1 else 2)
    assert not life.goes_on


def test_it_imports_nothing_of_django() -> None:
    seen = subprocess.run(
        [sys.executable, "-c", "import sys, salvor_admin.home.demo_runtime; print('django' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert seen.stdout == "False\n"
