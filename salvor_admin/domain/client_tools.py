"""Client tools: what an author may declare, and the three spellings a declaration has (TOML, document, listing)."""

from __future__ import annotations

import datetime
import math
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NoReturn

from salvor_admin.domain import canonical, schemas, strict_json, toml_text
from salvor_admin.domain.effects import Effect
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json, pointer


class Absent(Enum):
    """Told apart from every value, null included."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool the client performs (contract 2.1)."""

    name: str
    effect: Effect
    input_schema: Json
    output_schema: Json = ABSENT
    trust_completion: bool = False
    require_equal: tuple[str, ...] = ()
    idempotency_key: tuple[str, ...] = ()


KEYS: Final = (
    "name",
    "effect",
    "input_schema",
    "output_schema",
    "trust_completion",
    "require_equal",
    "idempotency_key",
)
EFFECTS: Final = frozenset(effect.value for effect in Effect)
REQUIRED_KEYS: Final = ("name", "effect", "input_schema")
RESERVED_KEY_FIELDS: Final = ("run", "tool")
MAX_NAME_BYTES: Final = 512
MAX_STORED_DEPTH: Final = 300  # a TOML header, a dotted key and a value may each nest 79 deep


# --- reading ---------------------------------------------------------------------------------------------------------


def from_toml(raw: bytes) -> ClientTool:
    """The tool a TOML file declares, or the first rule it breaks, in the reference's order (contract 2.2)."""
    members = toml_text.read(raw)
    try:
        _judge_members(members, effect_tables=True)
        tool = _tool(members)
        _judge_tool(tool)
    except Refusal as refusal:
        key = (refusal.place or "/").split("/")[1]
        line = toml_text.line_of(raw, key.replace("~1", "/").replace("~0", "~"))
        if line is None:
            raise
        raise Refusal(
            refusal.code,
            f"Line {line}: {refusal.message}",
            place=refusal.place,
            details={**refusal.details, "line": line},
        ) from None
    return tool


def from_document(value: Json) -> ClientTool:
    """The tool a parsed document declares, or the first rule it breaks (contract 2.2)."""
    members = _members_of(value)
    _judge_members(members)
    tool = _tool(members)
    _judge_tool(tool)
    return tool


def faults(value: Json, *, unread: Collection[str] = ()) -> list[Refusal]:
    """Every rule a parsed document breaks; empty when it declares a client tool.

    Keys in `unread` are there but could not be read: they are not told missing, and nothing is held against them.
    """
    try:
        members = _members_of(value)
    except Refusal as refusal:
        return [refusal]
    found: list[Refusal] = []
    readable: dict[str, Any] = {}
    for key, member in members.items():
        try:
            _judge_member(key, member)
        except Refusal as refusal:
            found.append(refusal)
        else:
            readable[key] = member
    found += [_missing(key) for key in REQUIRED_KEYS if key not in members and key not in unread]
    # What cannot be read is put as nothing could be held against it, so that the rest is judged all the same.
    listed = (*readable.get("idempotency_key", ()), *readable.get("require_equal", ()))
    named = {"required": list(dict.fromkeys(listed))}
    benign: dict[str, Any] = {"name": "unread", "effect": Effect.WRITE.value, "input_schema": named}
    if "output_schema" in unread:
        benign["output_schema"] = named
    return found + list(_faults_of(_tool({**benign, **readable})))


def from_document_text(text: str) -> ClientTool:
    """The tool whose document text was stored; it was judged when it was written."""
    document = strict_json.read(text.encode(), max_depth=MAX_STORED_DEPTH)
    return _tool({key: member for key, member in document.items() if key != "notes"})


def _refuse(code: str, message: str, place: str) -> NoReturn:
    raise Refusal(code, message, place=place)


def _members_of(value: Json) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        _refuse("wrong_type", "A client tool is an object with `name`, `effect` and `input_schema`; send one.", "")
    if value.get("notes", {}) != {}:
        _refuse("wrong_type", "`notes` is an empty object for now; leave it out.", "/notes")
    return {key: member for key, member in value.items() if key != "notes"}


def _judge_members(members: Mapping[str, Any], *, effect_tables: bool = False) -> None:
    """Each key in the order given, then the missing ones: the first fault is told."""
    for key, member in members.items():
        _judge_member(key, member, effect_tables=effect_tables)
    for key in REQUIRED_KEYS:
        if key not in members:
            raise _missing(key)


def _judge_member(key: str, member: Any, *, effect_tables: bool = False) -> None:
    place = pointer("", key)
    if key not in KEYS:
        _refuse("unknown_key", f"`{key}` is no key of a client tool; the keys are {', '.join(KEYS)}.", place)
    if key == "name" and not isinstance(member, str):
        _refuse("wrong_type", f"`name` is a string, not {_kind(member)}; write the tool's name.", place)
    if key == "effect":
        _judge_effect(member, place, tables=effect_tables)
    if key == "trust_completion" and not isinstance(member, bool):
        _refuse("wrong_type", f"`trust_completion` is true or false, not {_kind(member)}.", place)
    if key in {"require_equal", "idempotency_key"}:
        _judge_fields(key, member, place)


def _missing(key: str) -> Refusal:
    return Refusal("missing_key", f"`{key}` is missing; every client tool declares it.", place=pointer("", key))


def _judge_effect(member: Any, place: str, *, tables: bool) -> None:
    if tables and isinstance(member, dict) and len(member) == 1:
        [(member, content)] = member.items()
        if member in EFFECTS and content not in ({}, []):
            _refuse("wrong_type", f'`effect` is a string, not a table; write `effect = "{member}"`.', place)
    if not isinstance(member, str):
        _refuse("wrong_type", f"`effect` is a string, not {_kind(member)}; write read, idempotent or write.", place)
    if member not in EFFECTS:
        _refuse("unknown_effect", f"`{member}` is no effect; write one of `read`, `idempotent`, `write`.", place)


def _judge_fields(key: str, member: Any, place: str) -> None:
    if not isinstance(member, list):
        _refuse("wrong_type", f"`{key}` is a list of field names, not {_kind(member)}.", place)
    for index, field in enumerate(member):
        if not isinstance(field, str):
            _refuse("wrong_type", f"`{key}` lists field names, not {_kind(field)}.", pointer(place, index))


def _kind(member: Any) -> str:
    if isinstance(member, bool):
        return "a boolean"
    if isinstance(member, (int, float)):
        return "a number"
    if isinstance(member, str):
        return "a string"
    if isinstance(member, list):
        return "a list"
    if isinstance(member, dict):
        return "a table"
    return "null" if member is None else "a date or time"


def _tool(members: Mapping[str, Any]) -> ClientTool:
    effect = members["effect"]
    return ClientTool(
        name=members["name"],
        effect=Effect(effect if isinstance(effect, str) else next(iter(effect))),
        input_schema=members["input_schema"],
        output_schema=members.get("output_schema", ABSENT),
        trust_completion=members.get("trust_completion", False),
        require_equal=tuple(members.get("require_equal", ())),
        idempotency_key=tuple(members.get("idempotency_key", ())),
    )


def required_fields(schema: Json) -> frozenset[str]:
    """The fields a schema's own `required` names; anything else than a list of strings requires nothing."""
    required = schema.get("required") if isinstance(schema, dict) else None
    return (
        frozenset(field for field in required if isinstance(field, str)) if isinstance(required, list) else frozenset()
    )


def _judge_tool(tool: ClientTool) -> None:
    for fault in _faults_of(tool):
        raise fault


def _faults_of(tool: ClientTool) -> Iterator[Refusal]:
    """What is wrong with a tool whose members can all be read, in the reference's order, then by our own rules."""
    of_input, of_output = required_fields(tool.input_schema), required_fields(tool.output_schema)
    for index, field in enumerate(tool.idempotency_key):
        if field not in of_input:
            yield Refusal(
                "key_field_not_required",
                f"Tool `{tool.name}` names `{field}` in `idempotency_key`, but `input_schema.required` does not hold "
                f"`{field}`: a call without it would have no key. Require the field, or take it out of the key.",
                place=f"/idempotency_key/{index}",
            )
    for index, field in enumerate(tool.require_equal):
        for side, required in (("input_schema", of_input), ("output_schema", of_output)):
            if field not in required:
                yield Refusal(
                    "pinned_field_not_required",
                    f"Tool `{tool.name}` names `{field}` in `require_equal`, but `{side}.required` does not hold "
                    f"`{field}`: there would be nothing to compare. Require it there, or take it out.",
                    place=f"/require_equal/{index}",
                )
    yield from _faults_beyond_the_reference(tool)


def _faults_beyond_the_reference(tool: ClientTool) -> Iterator[Refusal]:
    """What the reference takes although it is dangerous; every rule is a bullet of docs/wire.md."""
    if problem := name_problem(tool.name):
        yield Refusal("bad_name", f"The tool's name {problem}.", place="/name")
    for index, field in enumerate(tool.idempotency_key):
        if field in RESERVED_KEY_FIELDS:
            yield Refusal(
                "reserved_key_field",
                f"Tool `{tool.name}` names `{field}` in `idempotency_key`, which would replace the {field} in the key "
                f"and let calls answer each other across runs or tools. Give the field another name.",
                place=f"/idempotency_key/{index}",
            )
    for side, schema in (("input_schema", tool.input_schema), ("output_schema", tool.output_schema)):
        if schema is not ABSENT:
            yield from _faults_of_schema(tool, side, schema)


def _faults_of_schema(tool: ClientTool, side: str, schema: Json) -> Iterator[Refusal]:
    unsayable = False
    for place, what in _unsayable(schema, f"/{side}"):
        unsayable = True
        yield Refusal("no_json_value", f"At {place} stands {what}, which JSON cannot say; write a string.", place=place)
    # A pattern we cannot run is a finding: the reviewer is told, the declaration is what it is.
    if not unsayable and (found := schemas.schema_problem(schema)) and not found.is_pattern:
        place = f"/{side}{found.place}"
        yield Refusal(
            "not_a_schema", f"`{side}` of tool `{tool.name}` is no JSON Schema at {place}: {found.why}.", place=place
        )


def name_problem(name: str) -> str | None:
    """What keeps a name from being one: it needs 1 to 512 bytes and no control characters."""
    if not name:
        return "is empty; give it one"
    if len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        return f"is longer than {MAX_NAME_BYTES} bytes; shorten it"
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in name):
        return "holds a control character; leave it out"
    return None


def _unsayable(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _unsayable(inner, pointer(place, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _unsayable(inner, pointer(place, index))
    elif isinstance(value, float) and not math.isfinite(value):
        yield place, str(value)
    elif isinstance(value, (datetime.date, datetime.time)):
        yield place, "a date or time"


# --- writing ---------------------------------------------------------------------------------------------------------


def listing_entry(tool: ClientTool) -> Json:
    """How `GET /v1/client-tools` shows the tool (contract 2.3)."""
    entry: dict[str, Any] = {
        "effect": str(tool.effect),
        "input_schema": tool.input_schema,
        "name": tool.name,
        "trust_completion": tool.trust_completion,
    }
    if tool.output_schema is not ABSENT:
        entry["output_schema"] = tool.output_schema
    if tool.require_equal:
        entry["require_equal"] = list(tool.require_equal)
    if tool.idempotency_key:
        entry["idempotency_key"] = list(tool.idempotency_key)
    return entry


def to_document(tool: ClientTool) -> Json:
    """The reviewed body: the listing's members, and what is reviewed beside them."""
    return {**listing_entry(tool), "notes": {}}


def document_text(tool: ClientTool) -> str:
    """The canonical text that a revision keeps and that its digest covers."""
    return canonical.text(to_document(tool))


def to_toml(tool: ClientTool, comments: Sequence[str] = ()) -> str:
    """A file for `salvor serve --client-tool` that reads back to the same document text."""
    entry = listing_entry(tool)
    text = toml_text.write({key: entry[key] for key in _FILE_ORDER if key in entry}, comments)
    if document_text(_tool(toml_text.read(text.encode()))) != document_text(tool):
        raise Refusal("not_toml", f"Tool `{tool.name}` cannot be written as TOML without a change; export it as JSON.")
    return text


# Plain keys first: below a table header they would fall into the table.
_FILE_ORDER: Final = (
    "name",
    "effect",
    "trust_completion",
    "require_equal",
    "idempotency_key",
    "input_schema",
    "output_schema",
)
