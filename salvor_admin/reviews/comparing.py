"""Two bodies of a document side by side: in words, field by field, and line by line."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from salvor_admin.domain import canonical, changes, review, strict_json
from salvor_admin.domain.changes import MISSING, Change, Direction, Meaning
from salvor_admin.domain.client_tools import MAX_STORED_DEPTH

#: Beyond so many lines a line by line comparison costs more than it tells.
MOST_LINES: Final = 4000
LONGEST_VALUE: Final = 2000


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One row of the field table; texts are canonical JSON, None where the member does not stand."""

    path: str
    was: str | None
    now: str | None
    direction: Direction | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs from one body to the other."""

    meanings: list[Meaning]
    fields: list[FieldChange]
    unchanged: int
    was_body: str | None
    now_body: str | None

    @property
    def tally(self) -> dict[str, int]:
        """How many meanings loosen, tighten, or do neither."""
        found = [meaning.direction for meaning in self.meanings]
        return {direction.value: found.count(direction) for direction in Direction}

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The laid out texts line by line: `add`, `del`, `at` (where), or empty for a line that stayed."""
        was, now = _laid_out(self.was_body), _laid_out(self.now_body)
        if len(was) + len(now) > MOST_LINES:
            return []
        diff = list(difflib.unified_diff(was, now, lineterm="", n=2))[2:]
        kinds = {"+": "add", "-": "del", "@": "at"}
        return [(kinds.get(line[:1], ""), line) for line in diff]


def _laid_out(body: str | None) -> list[str]:
    return [] if body is None else json.dumps(_read(body), indent=2, ensure_ascii=False).split("\n")


def _read(body: str) -> Any:
    return strict_json.read(body.encode(), max_depth=MAX_STORED_DEPTH)


def compare(kind: str, was_body: str | None, now_body: str | None) -> Comparison:
    """From one stored body to another; None where there is none."""
    was = _read(was_body) if was_body is not None else None
    now = _read(now_body) if now_body is not None else None
    differing = changes.between(MISSING if was is None else was, MISSING if now is None else now)
    if was is None and isinstance(now, dict):
        # Nothing was live: every member is new, and a row each reads better than one row for the whole.
        differing = [Change(changes.pointer("", name), MISSING, value) for name, value in sorted(now.items())]
    meanings = (
        changes.client_tool_meanings(was if isinstance(was, dict) else None, now if isinstance(now, dict) else None)
        if kind == review.Kind.CLIENT_TOOL
        else []
    )
    changed = {change.path for change in differing}
    return Comparison(
        meanings=meanings,
        fields=[
            FieldChange(change.path, _text(change.was), _text(change.now), _direction(change.path, meanings))
            for change in differing
        ],
        unchanged=sum(1 for path in _leaves(now, "") if path not in changed) if was is not None else 0,
        was_body=was_body,
        now_body=now_body,
    )


def _direction(path: str, meanings: list[Meaning]) -> Direction | None:
    """Which way a field goes: where several sentences speak of it, the one to worry about."""
    found = {meaning.direction for meaning in meanings if meaning.path == path}
    return next((direction for direction in Direction if direction in found), None)


def _leaves(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, changes.pointer(path, name))
    elif path:
        yield path


def _text(value: object) -> str | None:
    if isinstance(value, changes.Missing):
        return None
    text = canonical.text(cast(strict_json.Json, value))
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}… ({len(text)} characters)"
