"""A small runtime that keeps calling, for `make demo`: speaks `/v1` as any client does, and imports nothing of Django."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import httpx

from salvor_admin.engines import State

TOKEN_FILE: Final = "demo_runtime.token"  # noqa: S105
AGENT: Final = "sha256:" + "d7" * 32
#: Runs that carry this label are ours to go on with; others are left alone.
LABELS: Final = {"source": "demo"}
MOST_WAITING: Final = 30
TAKEN_UP_AT_ONCE: Final = 200
PACE: Final = 4.0
LONGEST_PAUSE: Final = 30.0
#: Fewer tries than this that reached nobody are a server still starting.
TRIES_IN_SILENCE: Final = 4
PAYEES: Final = ("DE89370400440532013000", "NL91ABNA0417164300", "FR7630006000011234567890189")


class Away(Exception):
    """Nobody answers, or answers that it cannot now."""


class Refused(Exception):
    """The server said no, with the contract's code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Wire:
    """`/v1` through one connection."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def get(self, path: str) -> dict[str, Any]:
        return self._answer("GET", path, None, None)

    def post(self, path: str, body: Mapping[str, Any], drive_token: str | None = None) -> dict[str, Any]:
        return self._answer("POST", path, body, drive_token)

    def _answer(
        self, method: str, path: str, body: Mapping[str, Any] | None, drive_token: str | None
    ) -> dict[str, Any]:
        headers = {} if drive_token is None else {"X-Drive-Token": drive_token}
        try:
            answer = self.client.request(method, f"/v1/{path}", json=body, headers=headers)
        except httpx.TransportError as error:
            raise Away(str(error) or type(error).__name__) from error
        if answer.status_code >= 500:
            raise Away(f"status {answer.status_code}")
        try:
            said: dict[str, Any] = answer.json()
            if answer.is_success:
                return said
            raise Refused(said["error"]["code"], said["error"]["message"])
        except (ValueError, KeyError, TypeError) as error:
            raise Away(f"status {answer.status_code} with an answer that is none of /v1's") from error


class DrivenRun:
    """One run while we hold it."""

    def __init__(self, wire: Wire, run_id: str) -> None:
        self.wire = wire
        self.run_id = run_id
        opened = wire.post("client-runs", {"run_id": run_id, "record_prompts": False})
        self.drive_token: str = opened["drive_token"]
        self.log: list[dict[str, Any]] = [envelope["event"] for envelope in opened["log"]]

    @property
    def last(self) -> dict[str, Any]:
        return self.log[-1]

    def append(self, kind: str, **payload: Any) -> None:
        envelope = {
            "run_id": self.run_id,
            "seq": len(self.log),
            "schema_version": 1,
            "recorded_at": "1970-01-01T00:00:00Z",
            "event": {"kind": kind, "payload": payload},
        }
        self._drive("events", {"events": [envelope]})
        self.log.append(envelope["event"])  # type: ignore[arg-type]

    def ask(self, tool: str, input: Mapping[str, Any]) -> bool:
        """Writes the call down before it happens; False when it is answered from the record."""
        seq = len(self.log)
        answer = self._drive("client-tool-intent", {"seq": seq, "tool": tool, "input": input})
        self.log.append({"kind": "ToolCallRequested", "payload": {"seq": seq, "tool": tool, "input": input}})
        if answer["settled"]:
            self.log.append({"kind": "ToolCallCompleted", "payload": {"seq": seq, "output": answer["output"]}})
        return not answer["settled"]

    def report(self, said: Mapping[str, Any]) -> None:
        """Says what came of the call: `{"output": …}` or `{"error": …}`."""
        seq = self.last["payload"]["seq"]
        self._drive("client-tool-completion", {"seq": seq, **said})
        self.log.append({"kind": "ToolCallCompleted", "payload": {"seq": seq, **said}})

    def finish(self) -> None:
        self.append("RunCompleted", output=self.last["payload"].get("output"))

    def release(self) -> None:
        try:
            self._drive("release", {})
        except (Away, Refused):
            # It lapses by itself.
            return

    def _drive(self, verb: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self.wire.post(f"client-runs/{self.run_id}/{verb}", body, self.drive_token)


class DemoRuntime:
    """Makes calls, some of which end with a person, and goes on with those that a person answered."""

    def __init__(self, wire: Wire, *, chance: random.Random, say: Callable[[str], None]) -> None:
        self.wire = wire
        self.chance = chance
        self.say = say
        self.is_pausing = False
        self.last_said = ""

    def turn(self) -> None:
        """One round: loads what is live, goes on with answered runs, and makes one call unless enough wait."""
        tools = {tool["name"]: tool for tool in self.wire.get("client-tools")["client_tools"]}
        for run_id in self._left_to_us():
            self._carefully(partial(self.take_up, run_id, tools))
        waiting = self.wire.get(f"runs?status=needs_reconciliation&limit={MOST_WAITING}")["runs"]
        if len(waiting) < MOST_WAITING:
            self.is_pausing = False
            wanted = [name for name in PERFORMS if name in tools]
            if wanted:
                self._carefully(partial(self.call, self._pick(wanted), tools))
        elif not self.is_pausing:
            self.is_pausing = True
            self.say(f"{len(waiting)} calls wait for a person; no new ones until fewer do.")

    def call(self, name: str, tools: Mapping[str, Any]) -> str:
        """A run of its own for one call; the run's id."""
        input, said = PERFORMS[name](self.chance)
        run = DrivenRun(self.wire, str(uuid.UUID(int=self.chance.getrandbits(128), version=4)))
        try:
            run.append("RunStarted", agent_def_hash=AGENT, input={"wants": name}, labels=LABELS)
            if run.ask(name, input):
                if not tools[name]["trust_completion"]:
                    return run.run_id
                run.report(said)
            run.finish()
        finally:
            run.release()
        return run.run_id

    def take_up(self, run_id: str, tools: Mapping[str, Any]) -> None:
        """Goes on with a run of ours that nobody holds: reads what was recorded of its call, and ends."""
        run = DrivenRun(self.wire, run_id)
        try:
            if run.last["kind"] == "ToolCallRequested":
                # Only calls that may be repeated are found open here.
                run.report(PERFORMS[run.last["payload"]["tool"]](self.chance)[1])
            run.finish()
        finally:
            run.release()

    def _left_to_us(self) -> list[str]:
        found = []
        for status in ("running", "awaiting_tool"):
            for run in self.wire.get(f"runs?status={status}&limit={TAKEN_UP_AT_ONCE}")["runs"]:
                if run.get("driver") == "none" and run.get("labels") == LABELS:
                    found.append(run["run"])
        return found

    def _pick(self, names: list[str]) -> str:
        return self.chance.choices(names, [WEIGHTS[name] for name in names])[0]

    def _carefully(self, act: Callable[[], object]) -> None:
        """A refusal is an answer to live with; the same one twice is told once."""
        try:
            act()
        except Refused as refused:
            if refused.code not in EXPECTED and refused.code != self.last_said:
                self.last_said = refused.code
                self.say(str(refused))


Performed = tuple[dict[str, Any], dict[str, Any]]
#: What happens now and then: a report that differs, or somebody else being quicker.
EXPECTED: Final = {"client_completion_refused", "lease_held", "invalid_drive_token", "divergence"}


def _refund(chance: random.Random) -> Performed:
    """Mostly as asked; now and then the report differs, or the provider declines."""
    cents = chance.randrange(500, 25000, 10)
    input = {"order_id": f"ORD-{chance.randrange(10000, 99999)}", "amount_cents": cents}
    luck = chance.random()
    if luck < 0.08:
        return input, {"error": {"message": "the card has expired"}}
    reported = cents if luck < 0.9 else cents - chance.choice((10, 100, 400))
    return input, {"output": {"provider_refund_id": f"re_{chance.getrandbits(40):010x}", "amount_cents": reported}}


def _payout(chance: random.Random) -> Performed:
    input = {
        "reference": f"PAY-{chance.randrange(10000, 99999)}",
        "payee_iban": chance.choice(PAYEES),
        "amount_cents": chance.randrange(10000, 240000, 50),
    }
    kept = {name: input[name] for name in ("payee_iban", "amount_cents")}
    return input, {"output": {"bank_reference": f"SEPA-{chance.getrandbits(32):08X}", **kept}}


def _status(chance: random.Random) -> Performed:
    output = {"status": chance.choice(("paid", "shipped", "delivered", "returned"))}
    return {"order_id": f"ORD-{chance.randrange(10000, 99999)}"}, {"output": output}


PERFORMS: Final[Mapping[str, Callable[[random.Random], Performed]]] = {
    "refund_card": _refund,
    "wire_payout": _payout,
    "order_status": _status,
}
WEIGHTS: Final = {"refund_card": 7, "wire_payout": 1, "order_status": 4}


class Life:
    """Until when to go on: a signal to end, or a parent that is gone."""

    def __init__(self) -> None:
        self.parent = os.getppid()
        self.leaving = False

    def leave(self, signum: int = 0, frame: object = None) -> None:
        self.leaving = True

    @property
    def goes_on(self) -> bool:
        return not self.leaving and os.getppid() == self.parent

    def rest(self, seconds: float) -> None:
        """Waits, and no longer than life goes on."""
        until = time.monotonic() + seconds
        while self.goes_on and time.monotonic() < until:
            time.sleep(min(0.1, seconds))


def live(life: Life, runtime: DemoRuntime, *, pace: float = PACE) -> None:
    """Turn after turn; while the server is away each pause is longer than the one before."""
    tries = 0
    while life.goes_on:
        try:
            runtime.turn()
        except Away as away:
            tries += 1
            if tries == TRIES_IN_SILENCE:
                runtime.say(f"the server is away ({away}); trying again until it is back.")
            life.rest(min(pace / 4 * 2 ** min(tries - 1, 10), LONGEST_PAUSE))
            continue
        if tries >= TRIES_IN_SILENCE:
            runtime.say("the server is back.")
        tries = 0
        life.rest(pace)


def main() -> int:
    """Runs until it is told to end; 0 then, and 1 where there is nothing to begin with."""
    life = Life()
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, life.leave)
    token = State().remembered(TOKEN_FILE)
    if token is None:
        sys.stderr.write("demo: there is no token for the demo runtime; start it with `make demo`.\n")
        return 1
    with httpx.Client(
        base_url=os.environ.get("SALVOR_DEMO_URL", "http://127.0.0.1:8000"),
        headers={"Authorization": f"Bearer {token}"},
        timeout=5.0,
        trust_env=False,
    ) as client:
        runtime = DemoRuntime(Wire(client), chance=random.Random(), say=_say)  # noqa: S311
        try:
            live(life, runtime)
        except Refused as refused:
            _say(f"{refused} Nothing can be called like this, so the demo runtime rests.")
            while life.goes_on:
                life.rest(LONGEST_PAUSE)
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"demo: {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
