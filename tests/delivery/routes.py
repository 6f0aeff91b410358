"""Routes of delivery and who may."""

from __future__ import annotations

from salvor_admin.domain.mailing import DEFAULTS
from tests.routes import Route

ROUTES = [
    Route("delivery:mail"),
    Route("delivery:mail", "POST", form=lambda scene: {group.value: "digest" for group in DEFAULTS}, is_page=False),
    Route("delivery:retry", "POST", frozenset({"root"}), is_page=False),
]
