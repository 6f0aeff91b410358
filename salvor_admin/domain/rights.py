"""Who may do what: roles, token scopes and what each includes (design sections 1 and 11)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Role(StrEnum):
    """What a membership gives. None includes another: an admin decides nothing that a reviewer decides."""

    VIEWER = "viewer"
    AUTHOR = "author"
    REVIEWER = "reviewer"
    PUBLISHER = "publisher"
    SETTLER = "settler"
    ADMIN = "admin"


class Scope(StrEnum):
    """What a personal token may do; each includes the ones before it."""

    READ = "read"
    DRAFT = "draft"
    DECIDE = "decide"


TOKEN_SCOPES: tuple[str, ...] = tuple(scope.value for scope in Scope)


def scope_includes(held: str, needed: Scope) -> bool:
    """True when a token of scope `held` may do what `needed` asks."""
    return TOKEN_SCOPES.index(held) >= TOKEN_SCOPES.index(needed)


def known_roles(names: Iterable[str]) -> tuple[list[Role], list[str]]:
    """The roles among these names in a fixed order, and the names that are none."""
    given = set(names)
    return [role for role in Role if role.value in given], sorted(given - {role.value for role in Role})
