"""Several at once: the same act from many threads, each with a connection of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TypeVar

from django.db import connection

Won = TypeVar("Won")

THREADS = int(os.environ.get("SALVOR_RACE_THREADS", "8"))
ROUNDS = int(os.environ.get("SALVOR_RACE_ROUNDS", "5"))


def at_once(*acts: Callable[[], Won]) -> list[Won | Exception]:
    """Runs the acts at the same moment; each one's result or what it raised, in their order."""
    results: list[Won | Exception] = [RuntimeError("never ran")] * len(acts)
    gate = threading.Barrier(len(acts))

    def run(place: int, act: Callable[[], Won]) -> None:
        try:
            gate.wait(timeout=30)
            results[place] = act()
        except Exception as raised:
            results[place] = raised
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(place, act)) for place, act in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return results
