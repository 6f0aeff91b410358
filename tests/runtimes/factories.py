"""Runtimes and their tokens, made through the services."""

from __future__ import annotations

from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace
from salvor_admin.people.services import Shell
from salvor_admin.runtimes import services
from salvor_admin.runtimes.models import Runtime


def a_runtime(*, admin: Actor | Shell | Workspace, name: str = "payouts-1", lease_ttl_seconds: int = 60) -> Runtime:
    actor = Shell(admin) if isinstance(admin, Workspace) else admin
    return services.register_runtime(name=name, actor=actor, lease_ttl_seconds=lease_ttl_seconds)


def a_runtime_token(*, runtime: Runtime, name: str = "") -> str:
    return services.create_runtime_token(runtime_id=runtime.pk, actor=Shell(runtime.workspace), name=name).token
