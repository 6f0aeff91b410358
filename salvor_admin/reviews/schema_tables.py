"""A client tool's schemas as tables that people can read; what a table cannot say is named, and stays in the raw text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from salvor_admin.domain import canonical
from salvor_admin.domain.client_tools import ABSENT, ClientTool
from salvor_admin.domain.strict_json import Json

_DEEPEST: Final = 12
MOST_ROWS: Final = 200
_LONGEST_LIST: Final = 12


@dataclass(frozen=True, slots=True)
class SchemaRow:
    """One field of a schema. `limits` are words; `values` is the canonical text of each allowed value."""

    path: str
    type: str
    required: bool
    limits: str
    values: tuple[str, ...]
    description: str
    purpose: str


@dataclass(frozen=True, slots=True)
class SchemaTable:
    """A schema as a table: its rows, and what the table leaves unsaid."""

    rows: tuple[SchemaRow, ...]
    #: No schema of this side is declared.
    is_absent: bool
    #: Fields that are not named are refused.
    is_closed: bool
    #: Keywords at the top that a table cannot show.
    unsaid: tuple[str, ...]
    more_rows: int
    text: str


def of_input(tool: ClientTool) -> SchemaTable:
    """What a call must carry."""
    return _table(tool.input_schema, {name: _purpose_in_call(tool, name) for name in _named(tool)})


def of_output(tool: ClientTool) -> SchemaTable:
    """What a report must carry."""
    return _table(tool.output_schema, dict.fromkeys(tool.require_equal, "must equal the call's"))


def _named(tool: ClientTool) -> set[str]:
    return {*tool.require_equal, *tool.idempotency_key}


def _purpose_in_call(tool: ClientTool, name: str) -> str:
    words = [
        word for word, listed in (("identity", tool.idempotency_key), ("pinned", tool.require_equal)) if name in listed
    ]
    return ", ".join(words)


def _table(schema: Any, purposes: dict[str, str]) -> SchemaTable:
    if schema is ABSENT:
        return SchemaTable((), True, False, (), 0, "")
    found: list[SchemaRow] = []
    if isinstance(schema, dict):
        _collect(schema, "", found, 0, purposes)
    unsaid = tuple(sorted(schema.keys() & _UNSAID)) if isinstance(schema, dict) else ()
    closed = isinstance(schema, dict) and schema.get("additionalProperties") is False
    rows = tuple(found[:MOST_ROWS])
    return SchemaTable(rows, False, closed, unsaid, len(found) - len(rows), canonical.text(schema))


def _collect(schema: dict[str, Any], prefix: str, found: list[SchemaRow], depth: int, purposes: dict[str, str]) -> None:
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    listed = schema.get("required")
    needed = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    for name in [*properties, *(name for name in dict.fromkeys(needed) if name not in properties)]:
        inner = properties.get(name, True)
        path, purpose = f"{prefix}{name}", purposes.get(name, "") if depth == 0 else ""
        if not isinstance(inner, dict):
            kind = "anything" if inner is True else "nothing"
            found.append(SchemaRow(path, kind, name in needed, "", (), "", purpose))
            continue
        words = str(inner.get("description", "") or inner.get("title", ""))
        found.append(SchemaRow(path, _type(inner), name in needed, _limits(inner), _values(inner), words, purpose))
        if depth < _DEEPEST:
            _collect(inner, f"{path}.", found, depth + 1, purposes)
            if isinstance(inner.get("items"), dict):
                _collect(inner["items"], f"{path}[].", found, depth + 1, purposes)


_TYPE_WORDS: Final = {"string": "text", "boolean": "true or false", "array": "list", "null": "null"}


def _type(schema: dict[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(_TYPE_WORDS.get(str(each), str(each)) for each in kind)
    if kind == "array" and isinstance(schema.get("items"), dict):
        return f"list of {_type(schema['items'])}"
    if kind is None:
        return "by reference" if "$ref" in schema else "anything"
    return _TYPE_WORDS.get(str(kind), str(kind))


def _values(schema: dict[str, Any]) -> tuple[str, ...]:
    if "const" in schema:
        return (canonical.text(schema["const"]),)
    values = schema.get("enum")
    if not isinstance(values, list):
        return ()
    told = [_short(value) for value in values[:_LONGEST_LIST]]
    more = len(values) - len(told)
    return (*told, f"and {more} more") if more else tuple(told)


def _short(value: Json) -> str:
    text = canonical.text(value)
    return text if len(text) <= 120 else f"{text[:119]}…"


#: Pairs of keywords that bound one thing, and its unit.
_SPANS: Final = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " entries"),
    ("minProperties", "maxProperties", " fields"),
)
_SINGLE: Final = {
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
    "multipleOf": "a multiple of",
    "pattern": "matches",
    "format": "as",
}
#: What a row cannot show in words; it is named, and read in the raw text.
_UNSAID: Final = frozenset(
    {
        "$ref", "$dynamicRef", "oneOf", "anyOf", "allOf", "not", "if", "patternProperties", "propertyNames", "contains",
        "dependentRequired", "dependentSchemas", "prefixItems", "unevaluatedItems", "unevaluatedProperties", "dependencies",
    }
)  # fmt: skip


def _limits(schema: dict[str, Any]) -> str:
    told: list[str] = []
    for low, high, unit in _SPANS:
        if low in schema and high in schema:
            told.append(f"{_short(schema[low])} to {_short(schema[high])}{unit}")
        elif low in schema:
            told.append(f"at least {_short(schema[low])}{unit}")
        elif high in schema:
            told.append(f"at most {_short(schema[high])}{unit}")
    told += [f"{words} {_short(schema[keyword])}" for keyword, words in _SINGLE.items() if keyword in schema]
    if schema.get("uniqueItems") is True:
        told.append("no entry twice")
    if schema.get("additionalProperties") is False:
        told.append("no other fields")
    unsaid = sorted(schema.keys() & _UNSAID)
    if unsaid:
        told.append(f"and {', '.join(unsaid)}, see the raw text")
    return ", ".join(told)
