"""Which process is ours, and signals that reach no other."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

PAUSE = 0.02


@dataclass(frozen=True)
class Sighting:
    """One life of a process: a pid is given out again, a pid with its start time never."""

    pid: int
    started: str
    session: int

    def alive(self) -> bool:
        return sighting(self.pid) == self

    def send(self, signum: int) -> bool:
        """Signal this life, or nobody; False when it is over."""
        if sys.platform != "linux":
            if not self.alive():
                return False
            os.kill(self.pid, signum)
            return True
        try:
            # The descriptor stays with one life, so nobody can step in between the look and the signal.
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            if not self.alive():
                return False
            signal.pidfd_send_signal(handle, signum)
            return True
        except ProcessLookupError:
            return False
        finally:
            os.close(handle)

    def wait_gone(self, seconds: float) -> bool:
        return wait_until(lambda: not self.alive(), seconds)

    def end(self, *steps: tuple[int, float]) -> bool:
        """Signal in the order given, each with its patience in seconds; True when it is gone."""
        for signum, patience in steps:
            if not self.send(signum) or self.wait_gone(patience):
                return True
        return not self.alive()


def wait_until(reached: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE)
    return True


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def sighting(pid: int) -> Sighting | None:
    """The life that holds this pid now; None when there is none, or only a body nobody has buried."""
    if sys.platform != "linux":
        return _sighting_by_ps(pid)
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The name in brackets may itself hold spaces and brackets; what follows the last one is numbers.
    fields = stat[stat.rfind(")") + 2 :].split()
    if fields[0] in {"Z", "X"}:
        return None
    return Sighting(pid, f"{_boot()}:{fields[19]}", int(fields[3]))


def _sighting_by_ps(pid: int) -> Sighting | None:
    said = subprocess.run(
        ["ps", "-p", str(pid), "-o", "stat=,sess=,lstart="], capture_output=True, text=True, check=False
    ).stdout.split(maxsplit=2)
    if len(said) < 3 or said[0].startswith("Z"):
        return None
    return Sighting(pid, "".join(said[2].split()), 0)


def command_line(pid: int) -> list[str]:
    if sys.platform != "linux":
        listed = ["ps", "-p", str(pid), "-o", "command="]
        return subprocess.run(listed, capture_output=True, text=True, check=False).stdout.split()
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="surrogateescape").split("\0")[:-1]
    except OSError:
        return []


def environment(pid: int) -> list[str]:
    """What a process was started with; empty where nobody may look."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="surrogateescape").split("\0")
    except OSError:
        return []


def all_pids() -> Iterator[int]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    yield from (int(name) for name in names if name.isdecimal())


def listener(path: Path) -> int | None:
    """The process that listens on a unix socket; None when nobody does."""
    if sys.platform != "linux":
        return None
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(2)
        try:
            probe.connect(str(path))
            credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return None
    pid, _, _ = struct.unpack("3i", credentials)
    return int(pid) or None


class PidFile:
    """Names one life of one process: pid, start time, and a word its command line must hold."""

    def __init__(self, path: Path, word: str) -> None:
        self.path = path
        self.word = word

    def write(self, pid: int) -> None:
        seen = sighting(pid)
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}.new")
        fresh.write_text(f"{pid}\n{seen.started if seen else 'gone'}\n")
        fresh.replace(self.path)

    def holder(self) -> Sighting | None:
        """The life the file names, if it still lives and is what it should be."""
        try:
            lines = self.path.read_text().split()
            seen = sighting(int(lines[0]))
            started = lines[1]
        except (OSError, ValueError, IndexError):
            return None
        if seen is None or seen.started != started or not self.speaks_of(seen.pid):
            return None
        return seen

    def speaks_of(self, pid: int) -> bool:
        return any(self.word in part for part in command_line(pid))

    def clear(self) -> None:
        self.path.unlink(missing_ok=True)
