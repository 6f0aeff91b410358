"""Routes of `/v1`; `tests/wire/test_authorisation.py` tries them with tokens of every kind."""

from __future__ import annotations

from salvor_admin.wire.routes import ROUTES as TABLE
from tests.routes import Route


def named(path: str) -> str:
    return "wire:" + path.replace("/", "-").replace("<", "").replace(">", "")


ROUTES = [Route(named(path), method, is_page=False) for path, methods in TABLE.items() for method in methods]
