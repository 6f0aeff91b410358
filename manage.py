#!/usr/bin/env python
"""Every command of Salvor Admin; starts the private engines for those that need them."""

import os
import signal
import sys
from types import FrameType

from salvor_admin.engines import EngineError, for_command


def leave(signum: int, frame: FrameType | None) -> None:
    """Ending by a signal passes through `finally`, so that the engines are left in order."""
    raise SystemExit(128 + signum)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "salvor_admin.settings")
    signal.signal(signal.SIGTERM, leave)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, leave)
    try:
        with for_command(sys.argv):
            from django.core.management import execute_from_command_line

            execute_from_command_line(sys.argv)
    except EngineError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
