"""Holding values to declared schemas on `/v1`."""

from __future__ import annotations

from dataclasses import dataclass

from salvor_admin.domain.strict_json import Json


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a declared schema is no schema, and where (a JSON pointer)."""

    place: str
    why: str


def schema_problem(schema: Json) -> Problem | None:
    return None
