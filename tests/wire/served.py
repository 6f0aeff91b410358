"""The product served as it runs, for peers from outside: private engines, the real web server, people and tokens.

As a program it plays transcripts against itself: `python -m tests.wire.served tests/wire/transcripts/*.json`. The
commands `declare` and `restart` beside it reach it over a socket that it names in the environment.
"""

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
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CONTROL = "SALVOR_TESTS_CONTROL"
LEASE_TTL = "SALVOR_CLIENT_LEASE_TTL_SECS"


@dataclass
class Served:
    """A running product, and what a peer needs to know of it."""

    base: str
    runtime_token: str
    settler_token: str
    control: str
    declare: Any = field(repr=False)
    restart: Any = field(repr=False)


class Web:
    """The web server as `up` starts it, on a port of its own."""

    def __init__(self, log: Path, workers: int = 2) -> None:
        self.port = _free_port()
        self.log = log
        self.workers = workers
        self.child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1"]
        command += ["--port", str(self.port), "--workers", str(self.workers), "--blocking-threads", "4", "--no-ws"]
        command += ["--log-level", "warning", "salvor_admin.wsgi:application"]
        with self.log.open("ab") as log:
            self.child = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=HERE.parent.parent, start_new_session=True
            )
        deadline = time.monotonic() + 60
        while not self._answers():
            if self.child.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"The web server does not answer; {self.log} says why.")
            time.sleep(0.05)

    def stop(self) -> None:
        if self.child is not None and self.child.poll() is None:
            # To it alone: workers that are told as well leave it waiting for them.
            self.child.terminate()
            try:
                self.child.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(self.child.pid, signal.SIGKILL)
                self.child.wait()
        self.child = None

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/v1/capabilities")
            return connection.getresponse().status == 401
        except OSError:
            return False
        finally:
            connection.close()


@contextmanager
def served(*, durable: bool = False, workers: int = 2) -> Iterator[Served]:
    """The product on private engines of its own; this process must not have loaded Django's settings before."""
    from salvor_admin.engines import Engines

    folder = Path(tempfile.mkdtemp(prefix="salvor-served-"))
    folder.chmod(0o711)
    os.environ["SALVOR_STATE_DIR"] = str(folder / "state")
    os.environ["SALVOR_SECRET_KEY"] = "only-for-tests-" + "0123456789abcdef" * 4
    os.environ["SALVOR_STATIC_ROOT"] = str(folder / "static")
    os.environ["DJANGO_SETTINGS_MODULE"] = "salvor_admin.settings"
    engines = Engines(folder / "state", durable=durable)
    web = Web(folder / "web.log", workers)
    control = str(folder / "control")
    try:
        urls = engines.ensure()
        os.environ["SALVOR_DATABASE_URL"] = urls.database_url
        os.environ["SALVOR_REDIS_URL"] = urls.redis_url
        from tests.wire.stage import Stage

        stage = Stage()
        web.start()

        def restart() -> None:
            web.stop()
            web.start()

        os.environ[CONTROL] = control
        with _commands(control, declare=stage.declare, restart=restart):
            base = f"http://127.0.0.1:{web.port}"
            yield Served(base, stage.runtime_token, stage.settler_token, control, stage.declare, restart)
    finally:
        web.stop()
        engines.stop()
        if web.log.exists() and os.environ.get("SALVOR_TESTS_SHOW_LOG"):
            sys.stderr.write(web.log.read_text())
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _commands(path: str, **commands: Any) -> Iterator[None]:
    """Answers `declare` and `restart` until the block ends."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def answer() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as stream:
                asked = json.loads(stream.readline())
                try:
                    commands[asked["command"]](*asked["arguments"])
                    told = {"ok": True}
                except Exception as error:
                    told = {"ok": False, "error": f"{type(error).__name__}: {error}"}
                stream.write(json.dumps(told).encode() + b"\n")

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    try:
        yield
    finally:
        listener.close()


def ask(command: str, arguments: Sequence[str]) -> int:
    """What the scripts `declare` and `restart` do: hand the command on, say what went wrong."""
    given: list[Any] = list(arguments)
    if command == "declare":
        files = {path.name: path.read_bytes().decode() for path in sorted(Path(given[0]).glob("*.toml"))}
        given = [files, os.environ.get(LEASE_TTL)]
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.environ[CONTROL])
        with connection.makefile("rwb") as stream:
            stream.write(json.dumps({"command": command, "arguments": given}).encode() + b"\n")
            stream.flush()
            told: Mapping[str, Any] = json.loads(stream.readline())
    if not told["ok"]:
        sys.stderr.write(f"{told['error']}\n")
        return 1
    return 0


def play(product: Served, files: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Play transcripts with the recorded player, unchanged, as a program of its own."""
    command = [sys.executable, str(HERE / "replay.py"), "--base", product.base]
    command += ["--token", product.runtime_token, "--operator-token", product.settler_token]
    command += ["--declare-command", f"{sys.executable} {HERE / 'declare'}"]
    command += ["--restart-command", f"{sys.executable} {HERE / 'restart'}"]
    return subprocess.run([*command, *files], capture_output=True, text=True, check=False)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main(files: Sequence[str]) -> int:
    # Told to end, it still stops what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with served() as product:
        outcome = play(product, files)
    sys.stdout.write(outcome.stdout)
    sys.stderr.write(outcome.stderr)
    return outcome.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
