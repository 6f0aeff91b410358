"""Keeps services running, and ends what an earlier start left behind. Imports nothing of Django."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from salvor_admin.engines import EngineError, Engines, State
from salvor_admin.engines.processes import PidFile, Sighting, all_pids, environment, sighting

#: Inherited by whatever our children start, so that their children are found too when they are orphans.
MARK = "SALVOR_SUPERVISED"
PATIENCE = 15.0
LOOK_EVERY = 0.1
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
#: A life that lasted this long was a good one: the next restart is quick again.
GOOD_LIFE = 30.0


@dataclass(frozen=True)
class Service:
    """A program to keep running; its command line holds `word`."""

    name: str
    command: Sequence[str]
    word: str
    environment: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0


class _Running:
    def __init__(self, service: Service) -> None:
        self.service = service
        self.child: subprocess.Popen[bytes] | None = None
        self.since = 0.0
        self.next_at = 0.0
        self.pause = FIRST_PAUSE


class Supervisor:
    """Starts services, starts again those that die, stops them all."""

    def __init__(
        self, state: State, services: Iterable[Service], *, engines: Engines | None, say: Callable[[str], None]
    ) -> None:
        self.state = state
        self.engines = engines
        self.say = say
        self.running = [_Running(service) for service in services]
        self.leaving = threading.Event()
        self.hurried = threading.Event()
        self._engine_pause = FIRST_PAUSE
        self._engines_next_at = 0.0

    def start(self) -> None:
        begun = time.monotonic()
        for running in self.running:
            running.next_at = begun + running.service.delay
        self.look()

    def keep(self) -> None:
        """Look after them until somebody asks to leave."""
        while not self.leaving.wait(LOOK_EVERY):
            self.look()

    def look(self) -> None:
        """One round: what died is started again, each time after a longer pause."""
        now = time.monotonic()
        self._look_at_engines(now)
        for running in self.running:
            if running.child is None:
                if now >= running.next_at:
                    self._begin(running)
                continue
            code = running.child.poll()
            if code is None:
                continue
            # Its own children may outlive it and hold its port.
            _end(left_overs(self.state, running.service.name), 0.0)
            running.child = None
            if now - running.since >= GOOD_LIFE:
                running.pause = FIRST_PAUSE
            running.next_at = now + running.pause
            self.say(f"{running.service.name} ended ({_how(code)}); starting it again in {running.pause:g} s.")
            running.pause = min(running.pause * 2, LONGEST_PAUSE)

    def stop(self) -> None:
        """End every service, gently first; whoever asks twice does not wait."""
        children = [(running, running.child) for running in self.running if running.child is not None]
        for _, child in children:
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while any(child.poll() is None for _, child in children):
            if self.hurried.wait(0.02) or time.monotonic() > deadline:
                break
        for running, child in children:
            if child.poll() is None:
                child.kill()
            child.wait()
            running.child = None
            self._pid_file(running.service).clear()
        _end(left_overs(self.state), 0.0)

    def leave(self, signum: int = 0, frame: object = None) -> None:
        """Ask to leave; a signal handler."""
        if self.leaving.is_set():
            self.hurried.set()
        self.leaving.set()

    def _look_at_engines(self, now: float) -> None:
        if self.engines is None or now < self._engines_next_at:
            return
        self._engines_next_at = now + 0.5
        missing = self.engines.missing()
        if not missing:
            self._engine_pause = FIRST_PAUSE
            return
        self.say(f"{' and '.join(missing)} ended; starting again.")
        try:
            self.engines.ensure()
        except (EngineError, OSError) as error:
            self.say(str(error))
        self._engines_next_at = time.monotonic() + self._engine_pause
        self._engine_pause = min(self._engine_pause * 2, LONGEST_PAUSE)

    def _begin(self, running: _Running) -> None:
        service = running.service
        marked = {MARK: f"{self.state.folder}:{service.name}"}
        running.child = subprocess.Popen(
            list(service.command),
            stdin=subprocess.DEVNULL,
            env={**os.environ, **service.environment, **marked},
            # Ctrl-C in the terminal is for us alone; we pass it on in order.
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
        running.since = time.monotonic()
        self._pid_file(service).write(running.child.pid)

    def _pid_file(self, service: Service) -> PidFile:
        return PidFile(self.state.folder / f"{service.name}.pid", service.word)


def end_left_overs(state: State, words: Mapping[str, str], *, say: Callable[[str], None]) -> None:
    """End the services that an earlier `up` of this state started and could not stop."""
    files = [PidFile(state.folder / f"{name}.pid", word) for name, word in words.items()]
    named = {seen for seen in (file.holder() for file in files) if seen is not None}
    found = [*{*left_overs(state), *named}]
    if found:
        say(f"Ending {len(found)} processes that an earlier start left behind.")
        _end(found, PATIENCE)
    for file in files:
        file.clear()


def left_overs(state: State, name: str | None = None) -> list[Sighting]:
    """Every living process that an `up` of this state started, or that one of those started."""
    mark = f"{MARK}={state.folder}:"
    found = []
    for pid in all_pids():
        marks = [entry for entry in environment(pid) if entry.startswith(mark)]
        if pid == os.getpid() or not marks or (name is not None and marks != [mark + name]):
            continue
        seen = sighting(pid)
        found += [seen] if seen is not None else []
    return found


def _end(found: Sequence[Sighting], patience: float) -> None:
    deadline = time.monotonic() + patience
    if patience:
        for seen in found:
            seen.send(signal.SIGTERM)
    for seen in found:
        if not patience or not seen.wait_gone(deadline - time.monotonic()):
            seen.end((signal.SIGKILL, 5.0))


def _how(code: int) -> str:
    return f"exit {code}" if code >= 0 else f"signal {-code}"


_libc = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    """A service does not outlive a killed `up`."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
