"""Routes of the frame."""

from __future__ import annotations

from tests.routes import Route

ROUTES = [
    Route("web:preferences", "POST", is_public=True, is_page=False, form=lambda scene: {"theme": "dark"}, status=303)
]
