"""States made for one test, whose engines end with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from salvor_admin.engines import Engines
from salvor_admin.engines.processes import wait_until

AS_ROOT = os.geteuid() == 0


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def make_engines(state_dir: Path) -> Iterator[Callable[..., Engines]]:
    """More users of one state; whatever they started ends with the test."""
    made: list[Engines] = []

    def make(folder: Path = state_dir, *, durable: bool = False, elsewhere: bool = False) -> Engines:
        made.append(Engines(folder, durable=durable, elsewhere=elsewhere))
        return made[-1]

    yield make
    for engines in made:
        engines.stop()
    for engines in made:
        assert wait_until(engines.stop, 10), "somebody still uses this test's engines"
        engines.state.forget()


@pytest.fixture(scope="package")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    """Engines as an installation has them, for tests that only look."""
    engines = Engines(tmp_path_factory.mktemp("standing") / "state")
    engines.ensure()
    yield engines
    engines.stop()
    engines.state.forget()


@pytest.fixture
def engines(make_engines: Callable[..., Engines]) -> Engines:
    return make_engines()


def ask(database_url: str, statement: str) -> tuple:
    with psycopg.connect(database_url, autocommit=True) as connection:
        return connection.execute(statement).fetchone() or ()


def tell(database_url: str, *statements: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
