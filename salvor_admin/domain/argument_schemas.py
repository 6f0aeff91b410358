"""Arguments against exactly the declared schema, as agentplane checks them (contract 7.5).

Formats are not asserted and patterns unanchored; `schemas.violation` is the stricter check of `/v1`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from salvor_admin.domain import canonical, schema_full, schema_shapes, strict_json
from salvor_admin.domain.labels import resolve
from salvor_admin.domain.schema_run import OverBudget
from salvor_admin.domain.schema_shapes import SchemaProblem
from salvor_admin.domain.schema_subset import Fault
from salvor_admin.domain.strict_json import Json, pointer

#: What a grant without a schema offers and asks for.
ANY_OBJECT: dict[str, Json] = {"type": "object"}
LONGEST_QUOTE = 10_000
MAX_SCHEMA_DEPTH = 250


def violation(schema: Json, arguments: Json) -> str | None:
    """What a model is told when its arguments do not fit: one violation, the value quoted; None when they fit."""
    declared = ANY_OBJECT if schema is None else schema
    if strict_json.depth(declared) > MAX_SCHEMA_DEPTH:
        return "The declared JSON Schema is invalid: it nests too deep to be checked."
    try:
        fault = _check(canonical.text(declared))[0](arguments)
    except SchemaProblem as error:
        return f"The declared JSON Schema is invalid: at {error.problem.place or 'its root'}, {error.problem.why}."
    except schema_full.BadPatterns as error:
        return f"The declared JSON Schema cannot be checked: {error.problems[0].why}."
    except (OverBudget, RecursionError):
        return "The arguments cannot be checked against the declared JSON Schema in the steps allowed; send less."
    return None if fault is None else f"The arguments do not fit the declared JSON Schema: {_told(fault, arguments)}."


def problem(schema: Json) -> str | None:
    """Why a declared schema can check nothing, or None."""
    return Room().problem(schema)


class Room:
    """How many patterns the schemas of one file may still hold, so that a file costs no more than one schema."""

    def __init__(self) -> None:
        self.left = schema_full.PATTERN_ROOM

    @property
    def is_used_up(self) -> bool:
        return self.left <= 0

    def problem(self, schema: Json) -> str | None:
        """Why a declared schema can check nothing, or None; nothing is looked at once the room is used up."""
        if schema is None or self.is_used_up:
            return None
        if strict_json.depth(schema) > MAX_SCHEMA_DEPTH:
            return "it nests too deep"
        try:
            self.left -= _check(canonical.text(schema))[1]
        except SchemaProblem as error:
            return f"at {error.problem.place or 'its root'}, {error.problem.why}"
        except schema_full.BadPatterns as error:
            self.left -= error.spent
            return error.problems[0].why
        return None


@lru_cache(maxsize=256)
def _check(text: str) -> tuple[Callable[[Any], Fault | None], int]:
    schema = strict_json.read(text.encode(), max_depth=MAX_SCHEMA_DEPTH + 1)
    return schema_full.build_counted(_without_formats(schema))


def _without_formats(schema: Json) -> Json:
    """The schema with every `format` at a schema position taken out, in place."""
    dialect = schema_shapes.dialect_of(schema)
    todo = [schema]
    seen: set[int] = set()
    while todo:
        node = todo.pop()
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        schema_shapes.judge(node, dialect, "")
        node.pop("format", None)
        todo.extend(entry for _, entry in schema_shapes.inner(node, dialect, ""))
    return schema


_LESS = "is less than the minimum"
_MORE = "is greater than the maximum"
_PHRASES = {
    "type": "is not of type",
    "enum": "is not one of the values allowed",
    "const": "is not the value allowed",
    "minimum": _LESS,
    "exclusiveMinimum": _LESS,
    "maximum": _MORE,
    "exclusiveMaximum": _MORE,
    "minLength": "is shorter than allowed",
    "maxLength": "is longer than allowed",
    "minItems": "has less items than allowed",
    "maxItems": "has more items than allowed",
    "pattern": "does not match",
    "anyOf": "is valid under none of the schemas",
}
_NAMED = re.compile(r"`(.*)`", re.DOTALL)


def _told(fault: Fault, arguments: Json) -> str:
    steps = list(reversed(fault.steps))
    place = ""
    for step in steps:
        place = pointer(place, step)
    if fault.keyword in ("additionalProperties", "unevaluatedProperties") and steps:
        return f"the member {_quoted(steps[-1])} was unexpected (at {place})"
    named = _NAMED.search(fault.reason)
    if fault.keyword == "required" and named is not None:
        return f"{_quoted(named[1])} is a required property (at {place or 'the top'})"
    value = _quoted(resolve(arguments, place))
    if fault.keyword == "oneOf":
        how = "none" if fault.reason.endswith("fits 0") else "more than one"
        return f"{value} is valid under {how} of the schemas (at {place or 'the top'})"
    phrase = _PHRASES.get(fault.keyword)
    if phrase is None:
        return f"{value} is refused: {fault.reason} (at {place or 'the top'})"
    return f"{value} {phrase}: {fault.reason} (at {place or 'the top'})"


def _quoted(value: Json) -> str:
    text = canonical.text(value)
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}… ({len(text)} characters)"
