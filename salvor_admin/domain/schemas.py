"""Holding values to declared schemas on `/v1`: the reference's small checker first, then JSON Schema in full."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from salvor_admin.domain import canonical, schema_full, schema_subset, strict_json
from salvor_admin.domain.schema_shapes import Problem, SchemaProblem
from salvor_admin.domain.schema_subset import Fault
from salvor_admin.domain.strict_json import Json

__all__ = ["Problem", "Violation", "bad_patterns", "schema_problem", "subset_violation", "violation"]

_REMEMBERED: Final = 512
MAX_SCHEMA_DEPTH: Final = 250  # the most a TOML file can nest is less


@dataclass(frozen=True, slots=True)
class Violation:
    """The first place at which a value does not fit; `could_not_check` when we cannot tell whether it does."""

    path: str
    keyword: str
    reason: str
    could_not_check: bool = False

    @property
    def text(self) -> str:
        return f"{self.path}: {self.reason}"


class _Compiled:
    """Both checks of one schema."""

    __slots__ = ("bad_patterns", "full", "problem", "subset")

    def __init__(self, schema: Json, problem: Problem | None = None) -> None:
        self.subset: Callable[[Any], Fault | None] | None = None
        self.full: Callable[[Any], Fault | None] | None = None
        self.problem = problem
        self.bad_patterns: tuple[Problem, ...] = ()
        if problem is not None:
            return
        try:
            self.subset = schema_subset.build(schema)
            self.full = schema_full.build(schema)
        except SchemaProblem as error:
            self.problem = error.problem
        except schema_full.BadPatterns as error:
            self.bad_patterns = error.problems
            self.problem = error.problems[0]


_TOO_DEEP: Final = _Compiled(True, Problem("", f"it nests more than {MAX_SCHEMA_DEPTH} deep; write it flatter"))


@lru_cache(maxsize=_REMEMBERED)
def _compiled_from(text: str) -> _Compiled:
    return _Compiled(strict_json.read(text.encode(), max_depth=MAX_SCHEMA_DEPTH))


# Declarations are kept and handed in again and again: the same object need not be spelt anew to be recognised.
_by_identity: dict[int, tuple[Json, _Compiled]] = {}


def _compiled(schema: Json) -> _Compiled:
    found = _by_identity.get(id(schema))
    if found is not None and found[0] is schema:
        return found[1]
    if strict_json.depth(schema) > MAX_SCHEMA_DEPTH:
        return _TOO_DEEP
    compiled = _compiled_from(canonical.text(schema))
    if isinstance(schema, dict):
        if len(_by_identity) >= _REMEMBERED:
            _by_identity.clear()
        _by_identity[id(schema)] = (schema, compiled)
    return compiled


def violation(schema: Json, instance: Json) -> Violation | None:
    """Where a value breaks its declared schema, by the reference's rules first and then by JSON Schema's."""
    compiled = _compiled(schema)
    fault = compiled.subset(instance) if compiled.subset is not None else None
    if fault is None:
        if compiled.full is None:
            why = compiled.problem.why if compiled.problem else "it is no schema"
            return Violation("$", "", f"could not check: the declared schema cannot be used, {why}", True)
        try:
            fault = compiled.full(instance)
        except (schema_full.OverBudget, RecursionError):
            return Violation("$", "", "could not check: the schema needs more steps for this value than allowed", True)
    return None if fault is None else Violation(fault.path, fault.keyword, fault.reason)


def subset_violation(schema: Json, instance: Json) -> Violation | None:
    """Where the reference's own small checker finds a value to break a schema (contract 10.3)."""
    check = _compiled(schema).subset
    fault = check(instance) if check is not None else None
    return None if fault is None else Violation(fault.path, fault.keyword, fault.reason)


def schema_problem(schema: Json) -> Problem | None:
    """Why a declared schema is no JSON Schema that we can check, or None."""
    return _compiled(schema).problem


def bad_patterns(schema: Json) -> tuple[Problem, ...]:
    """The patterns that keep an otherwise good schema from being checked, by their places."""
    return _compiled(schema).bad_patterns
