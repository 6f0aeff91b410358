"""Where a schema refers back into itself: one walk for what strictness asks, one that follows every pointer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import unquote

from salvor_admin.domain import strict_json
from salvor_admin.domain.providers import schema_walk
from salvor_admin.domain.schema_shapes import MAP
from salvor_admin.domain.strict_json import Json

DEFINITION_TABLES = ("$defs", "definitions")
_ADDRESSES = ("$id", "$anchor", "$dynamicAnchor")

_LOCAL_DEFINITION = re.compile(r"#/(\$defs|definitions)/([^/]*)")

_Places = dict[str, str]  # reference text -> JSON pointer of the object that holds it, the first one found


def circles_of_definitions(schema: Json) -> _Places:
    """The references that close a circle through the root's definition tables or name the root (contract 4.2).

    A circle that nothing outside the tables leads to is none.
    """

    def targets(reference: str) -> Iterable[tuple[str, str]]:
        match = _LOCAL_DEFINITION.fullmatch(reference)
        table = schema.get(match[1]) if match and isinstance(schema, dict) else None
        if match is None or not isinstance(table, dict):
            return ()
        name = _unescaped(match[2])
        place = strict_json.pointer(strict_json.pointer("", match[1]), name)
        return _references_in(table.get(name), place).items()

    return _circles(_references_in(schema, ""), targets)


def circles(schema: Json) -> _Places:
    """The references that close a circle along any local pointer, `#/properties/…` included."""

    known: dict[str, _Places] = {}

    def targets(reference: str) -> Iterable[tuple[str, str]]:
        if not reference.startswith("#/"):
            return ()
        place = unquote(reference[1:])
        if place not in known:
            found, target = lookup(schema, place)
            known[place] = _references_in(target, place) if found else {}
        return known[place].items()

    return _circles(_references_in(schema, ""), targets)


def lookup(schema: Json, pointer: str) -> tuple[bool, Json]:
    """Whether a JSON pointer selects something, and what."""
    current = schema
    for step in pointer.split("/")[1:]:
        name = _unescaped(step)
        if isinstance(current, dict) and name in current:
            current = current[name]
        elif isinstance(current, list) and name.isdecimal() and name.isascii() and int(name) < len(current):
            current = current[int(name)]
        else:
            return False, None
    return True, current


def leading_nowhere(schema: Json) -> Iterator[tuple[str, str]]:
    """The references that leave this schema or find nothing in it, by pointer, anchor or `$id`, with their places."""
    nodes = [(each, place) for each, place in schema_walk.subschemas(schema) if isinstance(each, dict)]
    named = {name for each, _ in nodes for keyword in _ADDRESSES if isinstance(name := each.get(keyword), str)}
    for each, place in nodes:
        reference = each.get("$ref")
        if not isinstance(reference, str):
            continue
        base, _, fragment = reference.partition("#")
        by_pointer = not base and (not fragment or fragment.startswith("/"))
        if not (lookup(schema, unquote(fragment))[0] if by_pointer else (base or fragment) in named):
            yield reference, place


def _circles(starts: _Places, targets: Callable[[str], Iterable[tuple[str, str]]]) -> _Places:
    """Every reference is followed once, on a path kept by hand: a long chain may not end in a stack overflow."""
    closing: _Places = {}
    done: set[str] = set()
    for start, place in starts.items():
        if start == "#":
            closing.setdefault(start, place)
        if start in done:
            continue
        path = {start: None}
        pending = [iter(targets(start))]
        while pending:
            following = next(pending[-1], None)
            if following is None:
                done.add(path.popitem()[0])
                pending.pop()
                continue
            reference, stands_at = following
            if reference == "#" or reference in path:
                closing.setdefault(reference, stands_at)
            elif reference not in done:
                path[reference] = None
                pending.append(iter(targets(reference)))
    return closing


def _references_in(value: Json, place: str) -> _Places:
    """The texts under $ref anywhere in a value but in its definition tables, known keywords or not, with their places."""
    found: _Places = {}
    waiting: list[tuple[Json, str, bool]] = [(value, place, False)]
    while waiting:
        current, at, holds_names = waiting.pop()
        if isinstance(current, list):
            waiting.extend((child, strict_json.pointer(at, index), False) for index, child in enumerate(current))
        elif isinstance(current, dict):
            for name, child in current.items():
                inner = strict_json.pointer(at, name)
                if holds_names:
                    waiting.append((child, inner, False))
                elif name == "$ref" and isinstance(child, str):
                    found.setdefault(child, at)
                elif name not in DEFINITION_TABLES:
                    waiting.append((child, inner, name in MAP))
    return found


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")
