"""Sink cases as JSON: one labelled call with its grant, agent and catalogue, read and judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from salvor_admin.domain import labels, sink, strict_json
from salvor_admin.domain.grants import ProtectedField, ToolGrant, is_pointer, read_grant
from salvor_admin.domain.labels import Label, Labelled, Mark, Sensitivity, Trust
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.shapes import Place, named
from salvor_admin.domain.sink import CatalogueEntry, Ceilings, Judgement
from salvor_admin.domain.strict_json import Json

MOST_BYTES = 4 * 1024 * 1024
MOST_VALUES = 200_000
MOST_MARKS = 200
MAX_NESTING = 64
DERIVED = "derived from the grant"
ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class CallCase:
    """One call to judge."""

    reference: str
    arguments: Labelled
    grant: ToolGrant | None
    catalogue: CatalogueEntry | None
    ceilings: Ceilings
    bound: Json = labels.NOTHING
    release_asked: Mapping[str, Json] | None = None

    def judge(self) -> Judgement:
        """The sink's decision; a release is refused, since deciding one takes a policy engine (contract 8)."""
        if self.release_asked is not None:
            return Judgement(sink.Decision.RELEASE_REFUSED, self._release_reason())
        return sink.judge(
            reference=self.reference,
            arguments=self.arguments,
            grant=self.grant,
            catalogue=self.catalogue,
            ceilings=self.ceilings,
            bound=self.bound,
        )

    def _release_reason(self) -> sink.Reason:
        asked = (self.release_asked or {}).get("fields") or ()
        tracked = all(path == "" or path in self.arguments.fields for path in asked)
        return sink.Reason.RELEASE_DENIED if tracked else sink.Reason.UNTRACKED_RELEASE_FIELD


def read_file(raw: bytes) -> CallCase:
    """The case of a JSON file."""
    if len(raw) > MOST_BYTES or strict_json.is_crowded(raw, MOST_VALUES):
        raise _wrong(
            "", f"a case has at most {MOST_BYTES} bytes and {MOST_VALUES} values; leave out what is not judged"
        )
    try:
        value = strict_json.read(raw)
    except Refusal as refusal:
        raise _wrong("", refusal.message.rstrip(".")) from None
    return read_case(value)


def read_case(value: Json) -> CallCase:
    """A case of the recorded form; members it does not know are ignored."""
    case = _object(value, "")
    grant_written = _text_form(case, "grant")
    grant = None if grant_written is None else read_grant(grant_written, Place("grant", "/grant"))
    agent = _object(case.get("agent") or {}, "/agent")
    return CallCase(
        reference=_text(_needed(case, "tool", ""), "/tool"),
        arguments=_arguments(case),
        grant=grant,
        catalogue=read_catalogue(_text_form(case, "catalogue", DERIVED), grant),
        ceilings=Ceilings(
            egress=_sensitivity(agent.get("max_sensitivity_egress"), "/agent/max_sensitivity_egress"),
            journal=_sensitivity(agent.get("max_sensitivity_journaled"), "/agent/max_sensitivity_journaled"),
            plane_journal=_sensitivity(case.get("plane_max_sensitivity_journaled"), "/plane_max_sensitivity_journaled"),
        ),
        bound=_json_text(case["bound_arguments_text"], "/bound_arguments_text")
        if case.get("bound_arguments_text") is not None
        else labels.NOTHING,
        release_asked=_release_asked(case),
    )


def _arguments(case: Mapping[str, Json]) -> Labelled:
    arguments = read_value(_needed(case, "arguments", ""), "/arguments")
    if len(arguments.marks) > MOST_MARKS:
        raise _wrong("/arguments", f"it carries {len(arguments.marks)} release marks and may carry {MOST_MARKS}")
    return arguments


def _release_asked(case: Mapping[str, Json]) -> Mapping[str, Json] | None:
    if case.get("release_asked") is None:
        return None
    asked = _object(case["release_asked"], "/release_asked")
    for index, path in enumerate(_list(asked.get("fields") or [], "/release_asked/fields")):
        _text(path, f"/release_asked/fields/{index}")
    return asked


def read_catalogue(written: Json, grant: ToolGrant | None) -> CatalogueEntry | None:
    """A catalogue entry: derived from the grant, absent, or the members that replace derived ones."""
    derived = CatalogueEntry() if grant is None else CatalogueEntry.derived_from(grant)
    if written == DERIVED:
        return derived
    if written == ABSENT:
        return None
    members = _object(written, "/catalogue")
    if "mutates" in members:
        derived = replace(derived, mutates=_boolean(members["mutates"], "/catalogue/mutates"))
    ceiling = _sensitivity(members.get("max_sensitivity"), "/catalogue/max_sensitivity")
    output = _sensitivity(members.get("output_sensitivity"), "/catalogue/output_sensitivity")
    if ceiling is not None:
        derived = replace(derived, max_sensitivity=ceiling)
    if output is not None:
        derived = replace(derived, output_sensitivity=output)
    if "protected_fields" in members:
        derived = replace(derived, protected_fields=_fields(members["protected_fields"]))
    return derived


def _fields(written: Json) -> tuple[ProtectedField, ...]:
    """Fields in the catalogue's own order."""
    return read_grant({"ref": "", "protected_fields": written}, Place("catalogue", "/catalogue")).protected_fields


# --- labelled values -------------------------------------------------------------------------------------------------


def read_value(written: Json, place: str, *, room: int = MAX_NESTING) -> Labelled:
    """`{value_text | value, label?, fields?, marks?}`, or `{object: [[name, value]…]}`, or `{array: […]}`."""
    if room == 0:
        raise _wrong(place, f"more than {MAX_NESTING} labelled values stand inside each other")
    members = _object(written, place)
    if "object" in members:
        pairs = _list(members["object"], f"{place}/object")
        built = labels.built_object([_pair(pair, f"{place}/object/{index}", room) for index, pair in enumerate(pairs)])
    elif "array" in members:
        items = _list(members["array"], f"{place}/array")
        built = labels.built_array(
            [read_value(item, f"{place}/array/{index}", room=room - 1) for index, item in enumerate(items)]
        )
    else:
        value = (
            _json_text(members["value_text"], f"{place}/value_text")
            if "value_text" in members
            else _needed(members, "value", place)
        )
        fields = _object(members.get("fields") or {}, f"{place}/fields")
        built = Labelled(
            value,
            read_label(members.get("label") or {}, f"{place}/label"),
            {path: read_label(label, f"{place}/fields") for path, label in fields.items()},
        )
    marks = _list(members.get("marks") or [], f"{place}/marks")
    return replace(
        built,
        marks=built.marks + tuple(_mark(mark, f"{place}/marks/{index}") for index, mark in enumerate(marks)),
    )


def _pair(written: Json, place: str, room: int) -> tuple[str, Labelled]:
    pair = _list(written, place)
    if len(pair) != 2:
        raise _wrong(place, "a member is written [name, value]")
    return _text(pair[0], f"{place}/0"), read_value(pair[1], f"{place}/1", room=room - 1)


def read_label(written: Json, place: str) -> Label:
    """`{trust, sensitivity, provenance}`; what is left out is a trusted constant's."""
    members = _object(written, place)
    trust = members.get("trust", Trust.TRUSTED.value)
    if not isinstance(trust, str) or trust not in set(Trust):
        raise _wrong(f"{place}/trust", f"it is {named(trust)}, but only trusted and untrusted are known")
    sources = _list(members.get("provenance") or [], f"{place}/provenance")
    return Label(
        Trust(trust),
        _sensitivity(members.get("sensitivity"), f"{place}/sensitivity") or Sensitivity.PUBLIC,
        frozenset(_text(source, f"{place}/provenance") for source in sources),
    )


def _mark(written: Json, place: str) -> Mark:
    members = _object(written, place)
    scope = _text(members.get("field") or "", f"{place}/field")
    if not is_pointer(scope):
        raise _wrong(f"{place}/field", "it is no JSON pointer")
    return Mark(
        destination=_text(_needed(members, "destination", place), f"{place}/destination"),
        trust=_boolean(members.get("trust") or False, f"{place}/trust"),
        sensitivity=_sensitivity(members.get("sensitivity"), f"{place}/sensitivity"),
        scope=scope,
    )


# --- members ---------------------------------------------------------------------------------------------------------


def _wrong(place: str, why: str) -> Refusal:
    return Refusal("call_file_invalid", f"At {place or 'the top'}: {why}.", place=place)


def _needed(members: Mapping[str, Json], name: str, place: str) -> Json:
    if name not in members:
        raise _wrong(place, f"the member `{name}` is missing")
    return members[name]


def _object(value: Json, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(place, f"it is {named(value)}, but an object is needed")
    return value


def _list(value: Json, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(place, f"it is {named(value)}, but a list is needed")
    return value


def _text(value: Json, place: str) -> str:
    if not isinstance(value, str):
        raise _wrong(place, f"it is {named(value)}, but a text is needed")
    return value


def _boolean(value: Json, place: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(place, f"it is {named(value)}, but true or false is needed")
    return value


def _sensitivity(value: Json, place: str) -> Sensitivity | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in set(Sensitivity):
        raise _wrong(place, f"it is {named(value)}, but only {', '.join(Sensitivity)} are known")
    return Sensitivity(value)


def _json_text(value: Json, place: str) -> Json:
    try:
        return strict_json.read(_text(value, place).encode("utf-8", "surrogatepass"))
    except Refusal as refusal:
        raise _wrong(place, refusal.message.rstrip(".")) from None


def _text_form(case: Mapping[str, Json], name: str, default: Json = None) -> Json:
    """A member, or its `_text` twin, which keeps the spelling of numbers."""
    if case.get(f"{name}_text") is not None:
        return _json_text(case[f"{name}_text"], f"/{name}_text")
    return case.get(name, default)
