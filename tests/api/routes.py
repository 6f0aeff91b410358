"""Routes of api and who may."""

from __future__ import annotations

from tests.routes import Route

ROUTES: list[Route] = []
