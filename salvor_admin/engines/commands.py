"""Engines for one command line: started when it needs them, stopped when nobody else does."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from salvor_admin.engines.errors import EngineError
from salvor_admin.engines.launcher import Engines
from salvor_admin.engines.state import State

WITHOUT_DATABASE = frozenset(
    {
        "check",
        "check_client_tool",
        "check_listing",
        "check_manifest",
        "collectstatic",
        "compilemessages",
        "diffsettings",
        "findstatic",
        "help",
        "judge_call",
        "makemessages",
        "makemigrations",
        "render_offer",
        "spectacular",
        "startapp",
        "test_agent",
        "version",
    }
)

_serving: list[Engines] = []


def serving() -> Engines | None:
    """The engines this process was given by `for_command`; None where the environment names others."""
    return _serving[-1] if _serving else None


def needs_database(arguments: Sequence[str]) -> bool:
    command = arguments[1] if len(arguments) > 1 else "help"
    return not command.startswith("-") and command not in WITHOUT_DATABASE and not {"-h", "--help"} & set(arguments[2:])


@contextmanager
def for_command(arguments: Sequence[str]) -> Iterator[None]:
    """Put the secret key and, for a command that touches the database, the engines into the environment."""
    database = needs_database(arguments)
    if not os.environ.get("SALVOR_SECRET_KEY", "").strip():
        try:
            os.environ["SALVOR_SECRET_KEY"] = State().secret("secret_key")
        except (EngineError, OSError):
            # Where nothing can be written, the settings make a key for the moment.
            if database:
                raise
    given = [os.environ.get(name, "").strip() for name in ("SALVOR_DATABASE_URL", "SALVOR_REDIS_URL")]
    if not database or all(given):
        yield
        return
    engines = Engines(elsewhere=True)
    with engines as urls:
        os.environ["SALVOR_DATABASE_URL"] = urls.database_url
        os.environ["SALVOR_REDIS_URL"] = urls.redis_url
        _serving.append(engines)
        try:
            yield
        finally:
            _serving.remove(engines)
