"""A form for a call's output, made from its schema: what can be asked field by field, and the output read back.

Numbers are read from their spelling, never through a float that would change them; what a field cannot ask is asked as
JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from salvor_admin.domain import canonical, strict_json
from salvor_admin.domain.client_tools import ABSENT, ClientTool, required_fields
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json

MOST_FIELDS: Final = 80
MOST_LEVELS: Final = 4
MOST_CHOICES: Final = 200

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
# With one of these beside it a type says too little to ask by it.
_COMPOUND: Final = frozenset(
    {"$ref", "$dynamicRef", "oneOf", "anyOf", "allOf", "not", "if", "patternProperties", "prefixItems"}
)


class FieldKind(StrEnum):
    """How a value is asked."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    LINES = "lines"
    JSON = "json"
    PINNED = "pinned"
    GROUP = "group"


SCALARS: Final = {
    "string": FieldKind.TEXT,
    "integer": FieldKind.INTEGER,
    "number": FieldKind.NUMBER,
    "boolean": FieldKind.BOOLEAN,
}


@dataclass(frozen=True, slots=True)
class FormField:
    """One value of the output. `name` is ours, by position: names from a schema never become field names."""

    name: str
    path: tuple[str, ...]
    kind: FieldKind
    is_required: bool
    may_be_null: bool = False
    item_kind: FieldKind = FieldKind.TEXT
    choices: tuple[str, ...] = ()
    """Canonical texts."""
    pinned: str = ""
    """Canonical text of the value that was asked for."""
    about: str = ""
    children: tuple[FormField, ...] = ()

    @property
    def label(self) -> str:
        return self.path[-1]

    @property
    def null_name(self) -> str:
        return f"{self.name}-null"


@dataclass(frozen=True, slots=True)
class OutputForm:
    """The fields of an output; none when only JSON can say it, and then `why` says so."""

    fields: tuple[FormField, ...]
    why: str = ""
    start: str = "{}"
    """The JSON to begin from: the pinned fields."""

    def every(self) -> Iterator[FormField]:
        """All fields, groups before what they hold."""
        pending = list(reversed(self.fields))
        while pending:
            field = pending.pop()
            yield field
            pending.extend(reversed(field.children))


class FieldFaults(Exception):
    """What is wrong, by field name."""

    def __init__(self, faults: dict[str, str]) -> None:
        super().__init__(faults)
        self.faults = faults


# --- making ----------------------------------------------------------------------------------------------------------


def form_of(tool: ClientTool, input: Json) -> OutputForm:
    """The form for the output of a call of `tool` that was asked with `input`."""
    pinned = {field: input[field] for field in tool.require_equal if isinstance(input, dict) and field in input}
    start = canonical.text(pinned)
    schema = tool.output_schema
    if schema is ABSENT:
        return OutputForm((), "This tool declares no output schema, so any JSON value is taken.", start)
    if not _is_plain_object(schema):
        return OutputForm((), "The output schema is not a plain object, so it is answered as JSON.", start)
    maker = _Maker()
    try:
        fields = maker.fields(schema, path=(), name="f", pinned=pinned)
    except _TooMany:
        return OutputForm((), f"The output has more than {MOST_FIELDS} fields, so it is answered as JSON.", start)
    return OutputForm(tuple(fields), start=start)


def _is_plain_object(schema: Any) -> bool:
    if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict) or not schema["properties"]:
        return False
    return schema.get("type", "object") == "object" and not _COMPOUND & schema.keys()


class _TooMany(Exception):
    pass


class _Maker:
    def __init__(self) -> None:
        self.count = 0

    def fields(
        self, schema: Mapping[str, Any], *, path: tuple[str, ...], name: str, pinned: Mapping[str, Json]
    ) -> list[FormField]:
        required = required_fields(dict(schema))
        names = [*pinned, *(member for member in schema["properties"] if member not in pinned)]
        # Required ones first: they are what a settler must find out.
        names.sort(key=lambda member: (member not in required, member in pinned))
        made = []
        for index, member in enumerate(names):
            self.count += 1
            if self.count > MOST_FIELDS:
                raise _TooMany
            place = (*path, member)
            own = f"{name}{index}" if not path else f"{name}-{index}"
            if member in pinned:
                text = canonical.text(pinned[member])
                made.append(FormField(own, place, FieldKind.PINNED, True, pinned=text))
            else:
                made.append(self._field(schema["properties"][member], place, own, member in required))
        return made

    def _field(self, schema: Any, path: tuple[str, ...], name: str, is_required: bool) -> FormField:
        fallback = FormField(name, path, FieldKind.JSON, is_required)
        if not isinstance(schema, dict) or _COMPOUND & schema.keys():
            return fallback
        about = schema.get("description")
        about = about[:300] if isinstance(about, str) else ""
        choices = _choices(schema)
        if choices:
            return FormField(name, path, FieldKind.CHOICE, is_required, choices=choices, about=about)
        types = schema.get("type")
        if not isinstance(types, list):
            types = [types]
        may_be_null = "null" in types and len(types) > 1
        types = [kind for kind in types if kind != "null"]
        kind = types[0] if len(types) == 1 and isinstance(types[0], str) else None
        if kind in SCALARS:
            return FormField(name, path, SCALARS[kind], is_required, may_be_null, about=about)
        if kind == "array" and (item := _scalar_items(schema)) is not None:
            return FormField(name, path, FieldKind.LINES, is_required, may_be_null, item_kind=item, about=about)
        if kind == "object" and not may_be_null and _is_plain_object(schema) and len(path) < MOST_LEVELS:
            inner = self.fields(schema, path=path, name=name, pinned={})
            return FormField(name, path, FieldKind.GROUP, is_required, about=about, children=tuple(inner))
        return FormField(name, path, FieldKind.JSON, is_required, about=about)


def _choices(schema: Mapping[str, Any]) -> tuple[str, ...]:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list) or not values or len(values) > MOST_CHOICES:
        return ()
    return tuple(canonical.text(value) for value in values)


def _scalar_items(schema: Mapping[str, Any]) -> FieldKind | None:
    items = schema.get("items")
    if not isinstance(items, dict) or _COMPOUND & items.keys():
        return None
    kind = items.get("type")
    return SCALARS.get(kind) if isinstance(kind, str) else None


# --- reading back ----------------------------------------------------------------------------------------------------


def read_fields(form: OutputForm, typed: Mapping[str, str]) -> Json:
    """The output that the fields say; raises FieldFaults with every field that says none."""
    faults: dict[str, str] = {}
    output = _read_members(form.fields, typed, faults)
    if faults:
        raise FieldFaults(faults)
    return output


def read_raw(text: str) -> Json:
    """The output that JSON text says, nothing doubled, no number that storing would change."""
    return strict_json.read_strict(text.encode("utf-8", "surrogatepass"), max_depth=strict_json.MAX_VALUE_DEPTH)


def _read_members(fields: tuple[FormField, ...], typed: Mapping[str, str], faults: dict[str, str]) -> dict[str, Json]:
    members: dict[str, Json] = {}
    for field in fields:
        try:
            value = _read_field(field, typed, faults)
        except Refusal as refusal:
            faults[field.name] = refusal.message
            continue
        if value is not ABSENT:
            members[field.path[-1]] = value
    return members


def _read_field(field: FormField, typed: Mapping[str, str], faults: dict[str, str]) -> Json:
    if field.kind is FieldKind.PINNED:
        return strict_json.read(field.pinned.encode())
    if field.kind is FieldKind.GROUP:
        if not field.is_required and not _is_touched(field, typed):
            return ABSENT
        return _read_members(field.children, typed, faults)
    if field.may_be_null and typed.get(field.null_name):
        return None
    text = typed.get(field.name, "").replace("\r\n", "\n")
    if not text.strip():
        return _nothing(field)
    if field.kind is FieldKind.TEXT:
        return _plain_text(text)
    if field.kind is FieldKind.LINES:
        return [_scalar(field.item_kind, line) for line in text.split("\n") if line.strip()]
    if field.kind is FieldKind.CHOICE:
        if text not in field.choices:
            raise _fault("This is none of the choices; choose one of them.")
        return strict_json.read(text.encode())
    if field.kind is FieldKind.JSON:
        return read_raw(text)
    return _scalar(field.kind, text)


def _is_touched(field: FormField, typed: Mapping[str, str]) -> bool:
    return any(
        _is_touched(child, typed)
        if child.kind is FieldKind.GROUP
        else typed.get(child.name, "").strip() or typed.get(child.null_name)
        for child in field.children
    )


def _nothing(field: FormField) -> Json:
    if not field.is_required:
        return ABSENT
    if field.kind is FieldKind.LINES:
        return []
    hint = "; an empty text is said in the JSON below" if field.kind is FieldKind.TEXT else ""
    raise _fault(f"This is required. Write what you found{hint}.")


def _scalar(kind: FieldKind, text: str) -> Json:
    if kind is FieldKind.TEXT:
        return _plain_text(text)
    text = text.strip()
    if kind is FieldKind.BOOLEAN:
        if text not in {"true", "false"}:
            raise _fault(f"{_cut(text)} is neither true nor false; write one of them.")
        return text == "true"
    if kind is FieldKind.INTEGER and not _INTEGER.fullmatch(text):
        raise _fault(f"{_cut(text)} is no whole number; write digits only, without separators or a fraction.")
    if not _NUMBER.fullmatch(text):
        raise _fault(
            f"{_cut(text)} is no number as JSON spells it; write it like 12.5, with a point and no separators."
        )
    return _kept_number(text)


def _plain_text(text: str) -> str:
    if "\0" in text:
        raise _fault("The text holds the NUL character, which cannot be stored; leave it out.")
    return text


def _kept_number(text: str) -> Json:
    try:
        return strict_json.read_strict(text.encode())
    except Refusal as refusal:
        why = refusal.message.removeprefix("At the top: ")
        raise _fault(why[:1].upper() + why[1:]) from None


def _fault(message: str) -> Refusal:
    return Refusal("bad_request", message, place="output")


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"
