"""The rows: each measures what its budget names, the compared things in short alternating rounds."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from tests.bench import fill
from tests.bench.budgets import BUDGETS, Budget
from tests.bench.stage import DRIVE_TOKEN, INPUT, OUTPUT, PAYLOAD, TOOL, Staged, stage
from tests.bench.stand import (
    BARE_TABLES,
    CHECKOUT,
    BenchError,
    Load,
    Pgbench,
    Stand,
    Web,
    end,
    free_port,
    pgbench_program,
    repeated,
)

PRODUCT: Final = "salvor_admin.wsgi:application"
BARE: Final = "tests.bench.bare:application"


#: Into so many slices a round is cut.
SLICES: Final = 3


@dataclass(frozen=True)
class Scale:
    """How long and how much."""

    rounds: int = 3
    seconds: float = 3.0
    runs: int = 1000
    long_runs: int = 40
    many: int = 1_000_000
    few: int = 1000


FULL: Final = Scale()
QUICK: Final = Scale(rounds=1, seconds=1.0, long_runs=16, many=50_000)


@dataclass(frozen=True)
class Measured:
    """One budget held against what was seen; both compared figures stand in `figures`."""

    budget: Budget
    value: float
    figures: Mapping[str, float]
    note: str = ""

    @property
    def is_met(self) -> bool:
        return self.budget.is_met(self.value)


@dataclass
class Bench:
    """The engines, the product's first database, and how to tell whoever waits."""

    stand: Stand
    scale: Scale
    say: Callable[[str], None]
    staged: Staged | None = None
    _databases: dict[str, str] = field(default_factory=dict)
    _order: int = 0

    def product(self) -> Staged:
        if self.staged is None:
            self.say("setting up")
            self.staged = stage()
        return self.staged

    def orders(self) -> int:
        """Order numbers nobody used before."""
        self._order += 10_000_000
        return self._order

    def copy(self, name: str, number: int) -> str:
        """A copy of the product's database with that many rows in its lists."""
        if name not in self._databases:
            self.product()
            url = self.stand.make_database(name, like="salvor_admin")
            self.say(f"filling {number:,} rows")
            fill.lists(url, number)
            self._databases[name] = url
        return self._databases[name]

    def bare(self) -> str:
        if "bare" not in self._databases:
            url = self.stand.make_database("bare")
            import psycopg

            with psycopg.connect(url) as connection:
                connection.execute(BARE_TABLES.encode())
            self._databases["bare"] = url
        return self._databases["bare"]

    def rounds(self, **measured: Callable[[float], float]) -> dict[str, float]:
        """The median of some rounds of each, after a short one to warm up.

        A round is cut in slices that alternate, so that what else the machine does meets all of them alike.
        """
        seen: dict[str, list[float]] = {name: [] for name in measured}
        for go in measured.values():
            go(min(1.0, self.scale.seconds))
        for _ in range(self.scale.rounds):
            parts: dict[str, list[float]] = {name: [] for name in measured}
            for _ in range(SLICES):
                for name, go in measured.items():
                    parts[name].append(go(self.scale.seconds / SLICES))
            for name, rates in parts.items():
                seen[name].append(statistics.mean(rates))
        return {name: statistics.median(values) for name, values in seen.items()}

    def calls(self, web: Web, runs: list[tuple[str, int]]) -> dict[str, Any]:
        """The plan of calling on these runs, picked at random."""
        plan = {"port": web.port, "runs": runs, "drive": DRIVE_TOKEN, "token": self.product().runtime_token}
        return {**plan, "tool": TOOL, "input": INPUT, "output": OUTPUT, "first_order": self.orders()}

    def compare(self, load: Load) -> list[float]:
        """The medians of some rounds' medians, in milliseconds, after a short round to warm up."""
        load.go(min(1.0, self.scale.seconds))
        seen = [load.go(self.scale.seconds)["medians"] for _ in range(self.scale.rounds)]
        return [1000 * statistics.median(side) for side in zip(*seen, strict=True)]


def rate(load: Load) -> Callable[[float], float]:
    return lambda seconds: float(load.go(seconds)["rate"])


# --- writing ---------------------------------------------------------------------------------------------------------


class Costed:
    """A load whose rounds also tell what they cost in processor time, which other work on the machine blurs less."""

    def __init__(self, load: Load, web: Web, stand: Stand) -> None:
        self.load, self.web, self.stand = load, web, stand
        self.requests = 0
        self.web_seconds = 0.0
        self.database_seconds = 0.0

    def go(self, seconds: float) -> float:
        web, database = self.web.cpu(), self.stand.database_cpu()
        seen = self.load.go(seconds)
        self.web_seconds += self.web.cpu() - web
        self.database_seconds += self.stand.database_cpu() - database
        self.requests += seen["requests"]
        return float(seen["rate"])

    @property
    def words(self) -> str:
        web, database = (1e6 * cost / self.requests for cost in (self.web_seconds, self.database_seconds))
        return f"{web:.0f} + {database:.0f} us"


def write(bench: Bench) -> list[Measured]:
    """`pgbench`, the bare two-statement view, and intent + completion on /v1, in one run."""
    staged = bench.product()
    runs = fill.driven_runs(bench.stand.url, bench.scale.runs, 10, "write")
    bare_url = bench.bare()
    program = pgbench_program()
    with ExitStack() as stack:
        bare_web = stack.enter_context(bench.stand.web(BARE, SALVOR_BENCH_DATABASE_URL=bare_url))
        web = stack.enter_context(bench.stand.web(PRODUCT))
        requests = [
            f"POST /append/{run} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {staged.runtime_token}\r\n"
            f"X-Drive-Token: {DRIVE_TOKEN}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(PAYLOAD)}\r\n\r\n{PAYLOAD}"
            for run in range(1, 1001)
        ]
        bare_load = stack.enter_context(Load({"port": bare_web.port, "requests": requests, "status": 200}))
        bare = Costed(bare_load, bare_web, bench.stand)
        calls = Costed(stack.enter_context(Load(bench.calls(web, runs))), web, bench.stand)
        measured = {"bare": bare.go, "calls": calls.go}
        if program is not None:
            measured = {"pgbench": Pgbench(program, bare_url, bench.stand.folder, PAYLOAD).go, **measured}
        seen = bench.rounds(**measured)
    note = f"processor time in web server + database, calls {calls.words}, bare {bare.words}"
    figures = {"calls/s": seen["calls"], "bare/s": seen["bare"]}
    found = [Measured(BUDGETS["write"], seen["calls"] / seen["bare"], figures, note)]
    if program is None:
        bench.say("There is no pgbench beside PostgreSQL nor on the path, so nothing is held against it.")
    else:
        figures = {"calls/s": seen["calls"], "pgbench/s": seen["pgbench"]}
        found.append(Measured(BUDGETS["write-pgbench"], seen["calls"] / seen["pgbench"], figures))
    return found


def run_length(bench: Bench) -> list[Measured]:
    """Intent + completion on runs of 10,000 events and of 10, one after the other in turns."""
    bench.product()
    bench.say("filling long runs")
    number = bench.scale.long_runs
    long = fill.driven_runs(bench.stand.url, number, 10_000, "long")
    # So many that none of them grows long.
    short = fill.driven_runs(bench.stand.url, 50 * number, 10, "short")
    with bench.stand.web(PRODUCT) as web:
        sides = (bench.calls(web, long), bench.calls(web, short))
        with Load.alternating(*({**side, "connections": 1} for side in sides)) as load:
            at_long, at_short = bench.compare(load)
    return [Measured(BUDGETS["run-length"], at_long / at_short, {"long ms": at_long, "short ms": at_short})]


# --- lists -----------------------------------------------------------------------------------------------------------


def runs_list(bench: Bench) -> list[Measured]:
    """`GET /v1/runs?limit=50`, all and by status, at many runs and at few."""
    token = bench.product().runtime_token
    paths = {"first page": "/v1/runs?limit=50", "completed": "/v1/runs?limit=50&status=completed"}
    paths["waiting"] = "/v1/runs?limit=50&status=needs_reconciliation"
    return [_listed(bench, "runs-list", paths, Authorization=f"Bearer {token}")]


def queries(url: str, paths: list[str], headers: Mapping[str, str]) -> list[int]:
    """How many queries each of these pages makes on that database, counted by a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.queries"],
        input=json.dumps({"paths": paths, "headers": dict(headers)}),
        env=os.environ | {"SALVOR_DATABASE_URL": url},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BenchError(f"Queries cannot be counted: {done.stderr.strip()[-500:]}")
    found: list[int] = json.loads(done.stdout)
    return found


def inbox(bench: Bench) -> list[Measured]:
    """The inbox's lists, filters and searches as a signed-in settler sees them, at many calls and at few."""
    cookie = bench.product().cookie
    at = "/w/default/inbox/"
    paths = {
        "open": at,
        "by tool": f"{at}?tool={TOOL}",
        "by runtime": f"{at}?runtime=payouts-1",
        "waiting": f"{at}?state=waiting",
        "overdue": f"{at}?state=overdue",
        "claimed": f"{at}?state=claimed",
        "decided": f"{at}?state=decided",
        "all": f"{at}?state=all",
        "search": f"{at}?q=ord_000000000420",
        "search key": f"{at}?q={hashlib.sha256(b'420').hexdigest()[:12]}",
        "search run": f"{at}?q={hashlib.md5(b'list420').hexdigest()[:12]}",
        "search start": f"{at}?q=ord_0000000",
        "history": f"{at}history/",
    }
    return [_listed(bench, "inbox", paths, Cookie=cookie)]


def _listed(bench: Bench, row: str, paths: Mapping[str, str], **headers: str) -> Measured:
    """The worst of these addresses, each asked for at many and at few rows in turns."""
    few, many = bench.copy("few", bench.scale.few), bench.copy("many", bench.scale.many)
    counts = [queries(url, list(paths.values()), headers) for url in (few, many)]
    for name, at_few, at_many in zip(paths, *counts, strict=True):
        if at_many > at_few:
            raise BenchError(f"{name}: {at_many} queries at many rows, {at_few} at few.")
        if at_many < at_few:
            # A search that finds very much counts nothing.
            bench.say(f"  {name}: {at_many} queries at many rows, {at_few} at few")
    worst, note, figures = 0.0, "", {}
    with (
        bench.stand.web(PRODUCT, SALVOR_DATABASE_URL=few) as few_web,
        bench.stand.web(PRODUCT, SALVOR_DATABASE_URL=many) as many_web,
    ):
        for name, path in paths.items():
            sides = (repeated(web.port, [path], 200, **headers) for web in (many_web, few_web))
            with Load.alternating(*sides) as load:
                at_many_rows, at_few_rows = bench.compare(load)
            ratio = at_many_rows / at_few_rows
            bench.say(f"  {name}: {at_many_rows:.2f} ms of {at_few_rows:.2f} ms, {ratio:.2f}")
            if ratio > worst:
                worst, note = ratio, f"worst: {name}"
                figures = {"many ms": at_many_rows, "few ms": at_few_rows}
    return Measured(BUDGETS[row], worst, figures, note)


# --- the catalogue, the start ----------------------------------------------------------------------------------------


def catalogue(bench: Bench) -> list[Measured]:
    """An unchanged catalogue and an empty DRF view."""
    token = bench.product().runtime_token
    with bench.stand.web(BARE) as bare, bench.stand.web(PRODUCT) as web:
        address = f"http://127.0.0.1:{web.port}/api/catalogue/"
        asked = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked) as answer:
            tag = answer.headers["ETag"]
        plan = repeated(web.port, ["/api/catalogue/"], 304, Authorization=f"Bearer {token}", If_None_Match=tag)
        with Load(repeated(bare.port, ["/drf"], 200)) as empty, Load(plan) as unchanged:
            seen = bench.rounds(empty=rate(empty), unchanged=rate(unchanged))
    figures = {"unchanged/s": seen["unchanged"], "empty DRF/s": seen["empty"]}
    return [Measured(BUDGETS["catalogue"], seen["unchanged"] / seen["empty"], figures)]


def start(bench: Bench) -> list[Measured]:
    """`make up`, installed already, to the first page: in a folder that is new, then in the same one again."""
    from salvor_admin.engines import Engines

    folder = bench.stand.folder / "start"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SALVOR_")}
    environment |= {"SALVOR_STATE_DIR": str(folder), "SALVOR_STATIC_ROOT": str(bench.stand.folder / "start-static")}
    try:
        seen = {name: _seconds_to_first_page(environment) for name in ("new", "again")}
    finally:
        Engines(folder).state.forget()
    return [Measured(BUDGETS["start"], max(seen.values()), {f"{name} s": value for name, value in seen.items()})]


def _seconds_to_first_page(environment: Mapping[str, str]) -> float:
    port = free_port()
    begun = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "manage.py", "up", "--port", str(port)],
        cwd=CHECKOUT,
        env=dict(environment),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as page:
                    page.read()
                return time.monotonic() - begun
            except (urllib.error.URLError, OSError):
                if child.poll() is not None or time.monotonic() - begun > 120:
                    raise BenchError("`manage.py up` does not show a page.") from None
                time.sleep(0.05)
    finally:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(30)
        except subprocess.TimeoutExpired:
            end(child)


ROWS: Final[Mapping[str, Callable[[Bench], list[Measured]]]] = {
    "write": write,
    "run-length": run_length,
    "runs-list": runs_list,
    "inbox": inbox,
    "catalogue": catalogue,
    "start": start,
}


def as_json(measured: Measured) -> dict[str, Any]:
    return {
        "row": measured.budget.row,
        "what": measured.budget.words,
        "value": round(measured.value, 4),
        "budget": measured.budget.asked,
        "met": measured.is_met,
        "figures": {name: round(value, 3) for name, value in measured.figures.items()},
        "note": measured.note,
    }
