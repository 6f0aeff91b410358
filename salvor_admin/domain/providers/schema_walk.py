"""Every schema inside a schema, each with its JSON pointer: names are never taken for keywords."""

from __future__ import annotations

from collections.abc import Iterator

from salvor_admin.domain.schema_shapes import LIST, MAP, ONE
from salvor_admin.domain.strict_json import Json, pointer


def subschemas(schema: Json) -> Iterator[tuple[Json, str]]:
    """The schema itself and everything that stands where a schema may stand, whatever it is, in document order."""
    waiting: list[tuple[Json, str]] = [(schema, "")]
    while waiting:
        current, place = waiting.pop()
        yield current, place
        if isinstance(current, dict):
            waiting.extend(reversed(list(_children(current, place))))


def _children(schema: dict[str, Json], place: str) -> Iterator[tuple[Json, str]]:
    for keyword, value in schema.items():
        at = pointer(place, keyword)
        if keyword in MAP and isinstance(value, dict):
            # An entry of `dependencies` may be a list of names, which is no schema.
            yield from ((child, pointer(at, name)) for name, child in value.items() if not isinstance(child, list))
        elif isinstance(value, list) and (keyword in LIST or keyword == "items"):
            yield from ((child, pointer(at, index)) for index, child in enumerate(value))
        elif keyword in ONE:
            yield value, at


def type_words(schema: Json) -> list[str]:
    """The type words of a schema, written alone or as a list."""
    word = schema.get("type") if isinstance(schema, dict) else None
    words = word if isinstance(word, list) else [word]
    return [each for each in words if isinstance(each, str)]
