"""Fetching the runtimes and tokens this actor may touch; hidden and missing look the same."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from salvor_admin.domain.refusals import Refusal
from salvor_admin.runtimes.models import Runtime, RuntimeToken


class InWorkspace(Protocol):
    """Anybody who stands in one workspace: a person there, a command, a runtime."""

    @property
    def workspace_id(self) -> int: ...


def _no_runtime() -> Refusal:
    return Refusal("not_found", "There is no such runtime in this workspace. Look at the list of runtimes again.")


def runtime(actor: InWorkspace, runtime_id: UUID) -> Runtime:
    found = Runtime.objects.select_related("created_by").filter(workspace_id=actor.workspace_id, pk=runtime_id).first()
    if found is None:
        raise _no_runtime()
    return found


def runtime_for_change(actor: InWorkspace, runtime_id: UUID) -> Runtime:
    """The runtime, locked until commit."""
    found = (
        Runtime.objects.select_for_update(of=("self",), no_key=True)
        .filter(workspace_id=actor.workspace_id, pk=runtime_id)
        .first()
    )
    if found is None:
        raise _no_runtime()
    return found


def token_for_change(actor: InWorkspace, token_id: int) -> RuntimeToken:
    """The token with its runtime, the token locked until commit."""
    found = (
        RuntimeToken.objects.select_for_update(of=("self",), no_key=True)
        .select_related("runtime")
        .filter(runtime__workspace_id=actor.workspace_id, pk=token_id)
        .first()
    )
    if found is None:
        raise Refusal("not_found", "There is no such token in this workspace. Look at the runtime's page again.")
    return found
