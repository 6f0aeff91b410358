"""Routes of the first page, the trail and the machine's questions."""

from __future__ import annotations

from tests.routes import Route

ROUTES = [
    Route("home:start", is_outside=True, status=302, is_page=False),
    Route("home:healthz", is_public=True, is_page=False),
    Route("home:readyz", is_public=True, is_page=False),
    Route("home:workspace"),
    Route("home:audit"),
    Route("home:audit_export", is_page=False),
    Route("home:audit_entry", kwargs=lambda scene: {"number": 1}, is_numbered=True),
]
