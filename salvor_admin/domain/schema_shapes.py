"""What a schema may look like, per dialect: the metaschemas as one table of keyword and shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from salvor_admin.domain import canonical
from salvor_admin.domain.schema_subset import is_number
from salvor_admin.domain.strict_json import Json, pointer


class Dialect(IntEnum):
    """The dialects we know, in the order they came out."""

    DRAFT_4 = 4
    DRAFT_6 = 6
    DRAFT_7 = 7
    DRAFT_2019_09 = 2019
    DRAFT_2020_12 = 2020


DIALECTS: Final[Mapping[str, Dialect]] = {
    "http://json-schema.org/draft-04/schema": Dialect.DRAFT_4,
    "http://json-schema.org/draft-06/schema": Dialect.DRAFT_6,
    "http://json-schema.org/draft-07/schema": Dialect.DRAFT_7,
    "https://json-schema.org/draft/2019-09/schema": Dialect.DRAFT_2019_09,
    "https://json-schema.org/draft/2020-12/schema": Dialect.DRAFT_2020_12,
}


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a declared schema is no schema, and where (a JSON pointer into it).

    `is_pattern`: it is a schema, but one of its patterns is none that we can run.
    """

    place: str
    why: str
    is_pattern: bool = False


class SchemaProblem(Exception):
    """Carries a Problem out of a deep place."""

    def __init__(self, place: str, why: str) -> None:
        super().__init__(place, why)
        self.problem = Problem(place, why)


def dialect_of(schema: Json) -> Dialect:
    """The dialect a schema declares; 2020-12 when it declares none."""
    declared = schema.get("$schema") if isinstance(schema, dict) else None
    if declared is None and not (isinstance(schema, dict) and "$schema" in schema):
        return Dialect.DRAFT_2020_12
    dialect = DIALECTS.get(declared.removesuffix("#")) if isinstance(declared, str) else None
    if dialect is None:
        raise SchemaProblem(
            "/$schema", f"the dialect {_short(declared)} is not one we check; declare one of {', '.join(DIALECTS)}"
        )
    return dialect


def _short(value: Any) -> str:
    text = canonical.text(value)
    return text if len(text) <= 80 else text[:79] + "…"


# --- shapes: each says what is wrong, or None ------------------------------------------------------------------------

Shape = Callable[[Any, Dialect], str | None]

TYPE_NAMES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")


def _a_string(value: Any, dialect: Dialect) -> str | None:
    return None if isinstance(value, str) else "must be a string"


def _a_boolean(value: Any, dialect: Dialect) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _a_number(value: Any, dialect: Dialect) -> str | None:
    return None if is_number(value) else "must be a number"


def _a_positive_number(value: Any, dialect: Dialect) -> str | None:
    return None if is_number(value) and value > 0 else "must be a number above zero"


def _a_count(value: Any, dialect: Dialect) -> str | None:
    is_whole = isinstance(value, int) or (dialect > Dialect.DRAFT_4 and isinstance(value, float) and value.is_integer())
    return None if is_whole and is_number(value) and value >= 0 else "must be a whole number from zero on"


def _an_array(value: Any, dialect: Dialect) -> str | None:
    return None if isinstance(value, list) else "must be an array"


def _strings_once(value: Any, dialect: Dialect) -> str | None:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        return "must be a list of strings"
    if len(set(value)) != len(value):
        return "must not hold a string twice"
    return None


def _names_required(value: Any, dialect: Dialect) -> str | None:
    if dialect == Dialect.DRAFT_4 and value == []:
        return "must hold at least one name"
    return _strings_once(value, dialect)


def _type_names(value: Any, dialect: Dialect) -> str | None:
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name in TYPE_NAMES for name in names):
        return f"must be one or more of {', '.join(TYPE_NAMES)}"
    return "must not name a type twice" if len(set(names)) != len(names) else None


def _enumerated(value: Any, dialect: Dialect) -> str | None:
    if not isinstance(value, list):
        return "must be an array"
    if dialect == Dialect.DRAFT_4 and (not value or len(set(map(by_value, value))) != len(value)):
        return "must hold at least one value, and none twice"
    return None


def _exclusive(value: Any, dialect: Dialect) -> str | None:
    return _a_boolean(value, dialect) if dialect == Dialect.DRAFT_4 else _a_number(value, dialect)


_ANCHOR = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*\Z")


def _an_anchor(value: Any, dialect: Dialect) -> str | None:
    old = re.match(r"[A-Za-z][-A-Za-z0-9.:_]*\Z", value) if isinstance(value, str) else None
    if isinstance(value, str) and (old if dialect == Dialect.DRAFT_2019_09 else _ANCHOR.match(value)):
        return None
    return "must be a plain name: letters, digits, dots, hyphens and underscores"


def _an_id(value: Any, dialect: Dialect) -> str | None:
    if not isinstance(value, str):
        return "must be a string"
    if dialect >= Dialect.DRAFT_2019_09 and "#" in value.removesuffix("#"):
        return "must not hold a fragment; use $anchor"
    return None


def _vocabularies(value: Any, dialect: Dialect) -> str | None:
    if isinstance(value, dict) and all(isinstance(needed, bool) for needed in value.values()):
        return None
    return "must be an object of booleans"


def _draft_4_alone(shape: Shape) -> Shape:
    return lambda value, dialect: shape(value, dialect) if dialect == Dialect.DRAFT_4 else None


def _draft_2019_alone(shape: Shape) -> Shape:
    return lambda value, dialect: shape(value, dialect) if dialect == Dialect.DRAFT_2019_09 else None


SHAPES: Final[Mapping[str, tuple[int, Shape]]] = {
    # keyword: (the dialect that brought it, its shape)
    "$schema": (4, _a_string),
    "$id": (6, _an_id),
    "id": (4, _draft_4_alone(_an_id)),
    "$ref": (4, _a_string),
    "$anchor": (2019, _an_anchor),
    "$recursiveRef": (2019, _draft_2019_alone(_a_string)),
    "$recursiveAnchor": (2019, _draft_2019_alone(_a_boolean)),
    "$dynamicRef": (2020, _a_string),
    "$dynamicAnchor": (2020, _an_anchor),
    "$vocabulary": (2019, _vocabularies),
    "$comment": (7, _a_string),
    "title": (4, _a_string),
    "description": (4, _a_string),
    "examples": (6, _an_array),
    "readOnly": (7, _a_boolean),
    "writeOnly": (2019, _a_boolean),
    "deprecated": (2019, _a_boolean),
    "type": (4, _type_names),
    "enum": (4, _enumerated),
    "multipleOf": (4, _a_positive_number),
    "minimum": (4, _a_number),
    "maximum": (4, _a_number),
    "exclusiveMinimum": (4, _exclusive),
    "exclusiveMaximum": (4, _exclusive),
    "minLength": (4, _a_count),
    "maxLength": (4, _a_count),
    "pattern": (4, _a_string),
    "format": (4, _a_string),
    "contentEncoding": (7, _a_string),
    "contentMediaType": (7, _a_string),
    "minItems": (4, _a_count),
    "maxItems": (4, _a_count),
    "uniqueItems": (4, _a_boolean),
    "minContains": (2019, _a_count),
    "maxContains": (2019, _a_count),
    "minProperties": (4, _a_count),
    "maxProperties": (4, _a_count),
    "required": (4, _names_required),
}

# Keywords that hold schemas: one, a list of them, or a map of them.
ONE: Final[Mapping[str, tuple[int, int]]] = {
    # keyword: (the dialect that brought it, the last one that has it)
    "not": (4, 2020),
    "contains": (6, 2020),
    "propertyNames": (6, 2020),
    "if": (7, 2020),
    "then": (7, 2020),
    "else": (7, 2020),
    "additionalProperties": (4, 2020),
    "additionalItems": (4, 2019),
    "items": (4, 2020),
    "unevaluatedItems": (2019, 2020),
    "unevaluatedProperties": (2019, 2020),
    "contentSchema": (2019, 2020),
}
LIST: Final[Mapping[str, tuple[int, int]]] = {
    "allOf": (4, 2020),
    "anyOf": (4, 2020),
    "oneOf": (4, 2020),
    "prefixItems": (2020, 2020),
}
MAP: Final[Mapping[str, tuple[int, int]]] = {
    "properties": (4, 2020),
    "patternProperties": (4, 2020),
    "dependentSchemas": (2019, 2020),
    "$defs": (2019, 2020),
    "definitions": (4, 2020),
    "dependencies": (4, 2020),
}


def by_value(value: Json) -> str:
    """A text that two values share when JSON Schema holds them equal: 1 and 1.0 are one number."""
    return canonical.text(_whole(value) if isinstance(value, (float, list, dict)) else value)


def _whole(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**63 else value
    if isinstance(value, list):
        return [_whole(entry) for entry in value]
    if isinstance(value, dict):
        return {name: _whole(entry) for name, entry in value.items()}
    return value


def _has(span: tuple[int, int], dialect: Dialect) -> bool:
    return span[0] <= dialect <= span[1]


def judge(schema: Json, dialect: Dialect, place: str) -> None:
    """Raises SchemaProblem when a schema's own keywords are out of shape; inner schemas are judged on their own."""
    if isinstance(schema, bool) and dialect >= Dialect.DRAFT_6:
        return
    if not isinstance(schema, dict):
        raise SchemaProblem(place, "a schema must be an object" + (" or a boolean" if dialect > 4 else ""))
    for keyword, value in schema.items():
        shape = SHAPES.get(keyword)
        if shape is not None and shape[0] <= dialect and (why := shape[1](value, dialect)):
            raise SchemaProblem(pointer(place, keyword), f"`{keyword}` {why}")
        if keyword in LIST and _has(LIST[keyword], dialect) and (not isinstance(value, list) or not value):
            raise SchemaProblem(pointer(place, keyword), f"`{keyword}` must be a list of at least one schema")
        if keyword in MAP and _has(MAP[keyword], dialect) and not isinstance(value, dict):
            raise SchemaProblem(pointer(place, keyword), f"`{keyword}` must be an object of schemas")
    if dialect == Dialect.DRAFT_4:
        for keyword, beside in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if keyword in schema and beside not in schema:
                raise SchemaProblem(pointer(place, keyword), f"`{keyword}` needs `{beside}` beside it")
    if dialect >= Dialect.DRAFT_2019_09 and "dependentRequired" in schema:
        _judge_name_lists(schema["dependentRequired"], dialect, pointer(place, "dependentRequired"))
    if place and "$schema" in schema and dialect_of(schema) != dialect:
        raise SchemaProblem(pointer(place, "$schema"), "a schema inside another must keep to its dialect")


def _judge_name_lists(named: Any, dialect: Dialect, place: str) -> None:
    if not isinstance(named, dict):
        raise SchemaProblem(place, "`dependentRequired` must be an object of name lists")
    for name, names in named.items():
        if why := _strings_once(names, dialect):
            raise SchemaProblem(pointer(place, name), f"this {why}")


def inner(schema: Mapping[str, Any], dialect: Dialect, place: str) -> Iterator[tuple[str, Any]]:
    """The schemas that stand inside a judged one, with their places."""
    for keyword, value in schema.items():
        here = pointer(place, keyword)
        if keyword in ONE and _has(ONE[keyword], dialect):
            if keyword == "items" and isinstance(value, list) and dialect <= Dialect.DRAFT_2019_09:
                if not value:
                    raise SchemaProblem(here, "`items` must hold at least one schema")
                yield from ((pointer(here, index), entry) for index, entry in enumerate(value))
            elif not (dialect == Dialect.DRAFT_4 and keyword.startswith("additional") and isinstance(value, bool)):
                yield here, value
        elif keyword in LIST and _has(LIST[keyword], dialect):
            yield from ((pointer(here, index), entry) for index, entry in enumerate(value))
        elif keyword in MAP and _has(MAP[keyword], dialect):
            for name, entry in value.items():
                if keyword == "dependencies" and isinstance(entry, list):
                    if why := _names_required(entry, dialect):
                        raise SchemaProblem(pointer(here, name), f"this {why}")
                else:
                    yield pointer(here, name), entry
