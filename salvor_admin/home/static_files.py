"""Collecting the static files only when one of them changed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

from salvor_admin.engines import State

STAMP = "static.stamp"


def collect_if_changed(state: State) -> bool:
    """True when there was something to collect."""
    now = _sources()
    if state.remembered(STAMP) == now and (Path(settings.STATIC_ROOT) / "staticfiles.json").exists():
        return False
    call_command("collectstatic", interactive=False, verbosity=0, clear=True)
    state.remember(STAMP, now)
    return True


def _sources() -> str:
    seen = [str(settings.STATIC_ROOT)]
    for finder in get_finders():
        for path, storage in finder.list([]):
            found = os.stat(storage.path(path))
            seen.append(f"{path} {found.st_size} {found.st_mtime_ns}")
    return hashlib.sha256("\n".join(sorted(seen)).encode()).hexdigest()
