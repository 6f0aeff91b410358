"""Routes of runtimes and who may."""

from __future__ import annotations

from typing import Any

from tests.routes import Route
from tests.scene import Scene

ROOT = frozenset({"root"})


def runtime(scene: Scene) -> dict[str, Any]:
    return {"runtime_id": scene.runtime.pk}


ROUTES = [
    Route("runtimes:list"),
    Route(
        "runtimes:register",
        "POST",
        ROOT,
        form=lambda scene: {"name": "payouts-1", "lease_ttl_seconds": "60"},
        status=201,
    ),
    Route("runtimes:runtime", kwargs=runtime),
    Route("runtimes:change", "POST", ROOT, runtime, lambda scene: {"change": "believe"}),
    Route("runtimes:create_token", "POST", ROOT, runtime, lambda scene: {"token_name": "night"}, status=201),
    Route("runtimes:revoke_token", "POST", ROOT, lambda scene: {"token_id": scene.runtime_token.pk}),
]
