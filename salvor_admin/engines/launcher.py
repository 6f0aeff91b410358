"""Who starts and who stops: everybody who needs the engines shares them, the last one out stops them."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from salvor_admin.engines.errors import EngineError
from salvor_admin.engines.postgres import Postgres
from salvor_admin.engines.state import State
from salvor_admin.engines.valkey import Valkey


@dataclass(frozen=True)
class EngineUrls:
    database_url: str
    redis_url: str


class Engines:
    """The private engines of one state folder; an engine the environment names elsewhere is left out."""

    def __init__(self, state_dir: Path | str | None = None, *, durable: bool = True, elsewhere: bool = False) -> None:
        self.state = State(state_dir)
        self._given = {
            name: os.environ.get(variable, "").strip() if elsewhere else ""
            for name, variable in (("postgres", "SALVOR_DATABASE_URL"), ("valkey", "SALVOR_REDIS_URL"))
        }
        self.postgres = Postgres(self.state, durable=durable)
        self.valkey = Valkey(self.state)
        self._use: int | None = None

    def urls(self) -> EngineUrls:
        """Where the engines will be; known before they run."""
        return EngineUrls(self._given["postgres"] or self.postgres.url, self._given["valkey"] or self.valkey.url)

    def ensure(self) -> EngineUrls:
        """Start what does not run, take over what a killed start left behind, and count as a user of both."""
        with self.state.lock("engines.lock"):
            if self._use is None:
                self._use = os.open(self.state.folder / "engines.users", os.O_RDWR | os.O_CREAT, 0o600)
                fcntl.flock(self._use, fcntl.LOCK_SH)
            try:
                for engine in self._wanted():
                    engine.ensure()
            except EngineError:
                self._leave()
                raise
        return self.urls()

    def stop(self) -> bool:
        """Use them no longer; stop them, and say True, when nobody else does."""
        with self.state.lock("engines.lock"):
            return self._leave()

    def running(self) -> dict[str, int]:
        """The pid of each engine that runs for this state."""
        found = {engine.name: engine.running() for engine in (self.postgres, self.valkey)}
        return {name: seen.pid for name, seen in found.items() if seen is not None}

    def missing(self) -> list[str]:
        """The engines that should run and do not."""
        return [engine.name for engine in self._wanted() if engine.running() is None]

    def _wanted(self) -> list[Postgres | Valkey]:
        return [engine for engine in (self.postgres, self.valkey) if not self._given[engine.name]]

    def _leave(self) -> bool:
        if self._use is None:
            self._use = os.open(self.state.folder / "engines.users", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            # Every user holds a shared lock, which ends with the process even where that is killed.
            fcntl.flock(self._use, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        else:
            self.valkey.stop()
            self.postgres.stop()
            return True
        finally:
            os.close(self._use)
            self._use = None

    def __enter__(self) -> EngineUrls:
        return self.ensure()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
