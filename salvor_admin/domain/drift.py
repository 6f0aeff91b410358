"""Whether a reviewed grant still is what the server lists, and where the server claims more safety (contract 6.5)."""

from __future__ import annotations

from enum import StrEnum

from salvor_admin.domain import canonical, closed_schemas
from salvor_admin.domain.drafting import Hints, ListedTool
from salvor_admin.domain.grants import ToolGrant


class Half(StrEnum):
    """The two halves of a grant that a listing can move."""

    DESCRIPTION = "description"
    ARGUMENTS = "arguments"


def drifted(grant: ToolGrant, listed: ListedTool) -> tuple[Half, ...]:
    """The halves that differ; one the grant does not state is not compared, nor are hints and the reference."""
    halves: list[Half] = []
    if grant.description is not None and grant.description != listed.description:
        halves.append(Half.DESCRIPTION)
    if grant.arguments is not None and not canonical.equal(grant.arguments, closed_schemas.narrow(listed.input_schema)):
        halves.append(Half.ARGUMENTS)
    return tuple(halves)


def overclaims(grant: ToolGrant, hints: Hints) -> bool:
    """Whether the hints claim more safety than a mutating grant, whose calls in doubt need an operator."""
    return grant.mutates and (hints.read_only is True or hints.destructive is False or hints.idempotent is True)
