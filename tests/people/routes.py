"""Routes of people and who may."""

from __future__ import annotations

from typing import Any

from tests.routes import EVERYBODY, Route
from tests.scene import Scene

ROOT = frozenset({"root"})


def person(scene: Scene) -> dict[str, Any]:
    return {"person_id": scene.cast.actor("noor").person_id}


ROUTES = [
    Route("people:sign_in", is_public=True),
    Route("people:sign_in", "POST", is_public=True, is_page=False, status=200),
    Route("people:sign_out", "POST", is_public=True, is_page=False),
    Route("people:change_password", is_outside=True),
    Route("people:change_password", "POST", is_outside=True, status=422),
    Route("people:people"),
    Route("people:add_person", "POST", ROOT, form=lambda scene: {"username": "bo", "roles": ["settler"]}, status=201),
    Route("people:change_roles", "POST", ROOT, person, lambda scene: {"roles": ["settler", "viewer"]}),
    Route("people:deactivate", "POST", ROOT, person, lambda scene: {"reason": "left"}),
    Route("people:reactivate", "POST", ROOT, person, status=409),
    Route("people:settings"),
    Route(
        "people:create_token",
        "POST",
        form=lambda scene: {"name": "ci", "scope": "read", "hours": "8"},
        status=201,
    ),
    Route(
        "people:revoke_token",
        "POST",
        frozenset({"ada", "root"}),
        lambda scene: {"token_id": scene.personal_token.pk},
    ),
]

assert EVERYBODY >= ROOT
