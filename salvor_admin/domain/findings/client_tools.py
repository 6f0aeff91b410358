"""Findings about client tools: what a reviewer must see before a client's word is believed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from salvor_admin.domain import hidden_text, schemas
from salvor_admin.domain.client_tools import ABSENT, ClientTool, required_fields, to_document
from salvor_admin.domain.effects import Effect
from salvor_admin.domain.findings import tool_names, unenforced
from salvor_admin.domain.findings.finding import Finding, Severity
from salvor_admin.domain.strict_json import pointer

#: So many places of one kind are told each; the last of them says how many more there are.
MOST_PLACES: Final = 40
_ORDER = {Severity.BLOCK: 0, Severity.WARN: 1, Severity.NOTE: 2}


def find(tool: ClientTool) -> list[Finding]:
    """Everything the rules see in one client tool, most serious first."""
    found = [finding for rule in _RULES for finding in _bounded(list(rule(tool)))]
    return sorted(found, key=lambda finding: _ORDER[finding.severity])


def _bounded(found: list[Finding]) -> list[Finding]:
    if len(found) <= MOST_PLACES:
        return found
    last = found[MOST_PLACES - 1]
    more = f" {len(found) - MOST_PLACES} more places have the same."
    return [*found[: MOST_PLACES - 1], replace(last, reason=last.reason + more)]


def _never_completable(tool: ClientTool) -> Iterator[Finding]:
    if tool.trust_completion and tool.output_schema is ABSENT:
        yield Finding(
            "never_completable",
            Severity.BLOCK,
            "/output_schema",
            "The client's word is trusted, but without an output schema no output it reports can be recorded.",
            "Declare an output_schema, or set trust_completion to false so that people settle these calls.",
        )
    if not tool.trust_completion and tool.effect is not Effect.WRITE:
        yield Finding(
            "never_completable",
            Severity.BLOCK,
            "/trust_completion",
            f"A call of effect {tool.effect.value} that is not trusted can be closed by nobody over the wire: the client is "
            "refused, and resolve is for writes alone.",
            "Trust its completion with an output_schema, or declare its effect as write.",
        )


def _pattern_refused(tool: ClientTool) -> Iterator[Finding]:
    for side, schema in _sides(tool):
        for problem in schemas.bad_patterns(schema):
            yield Finding(
                "pattern_refused",
                Severity.BLOCK,
                f"/{side}{problem.place}",
                f"No value can be held to {side} here: {problem.why}. Every call or report checked by it would be refused.",
                "Write the pattern without look-around and back-references, or take it out.",
            )


def _hidden_characters(tool: ClientTool) -> Iterator[Finding]:
    for place, text, is_name in _texts(to_document(tool), ""):
        hidden = [text[at] for at in hidden_text.hidden_positions(text) if is_name or not _is_typesetting(text, at)]
        if hidden:
            points = ", ".join(dict.fromkeys(map(hidden_text.code_point, hidden[:8])))
            count = "1 character" if len(hidden) == 1 else f"{len(hidden)} characters"
            yield Finding(
                "hidden_characters",
                Severity.BLOCK,
                place,
                f"{count} here cannot be seen as they are ({points}), and a model reads them all the same.",
                "Write the text anew without them.",
            )


def _is_typesetting(text: str, at: int) -> bool:
    """A space of another width reads as the space it is, in French and Japanese prose; so does a line's end."""
    return text[at] in "\u00a0\u202f\u3000\u2009" or text[at : at + 2] == "\r\n"


_PROSE: Final = frozenset({"title", "description", "$comment"})


def _texts(value: Any, place: str, *, is_name: bool = True, in_map: bool = False) -> Iterator[tuple[str, str, bool]]:
    """Every text in a document with its place: members' names, and strings. Prose may hold wide spaces, names may not."""
    if isinstance(value, str):
        yield place, value, is_name
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _texts(entry, pointer(place, index), is_name=is_name)
    elif isinstance(value, dict):
        for name, entry in value.items():
            here = pointer(place, name)
            # The place itself shows the name, so a finding there speaks of it; its value is told one step below.
            if isinstance(entry, str):
                yield here, name + entry if hidden_text.count_hidden(name) else entry, in_map or name not in _PROSE
            else:
                if hidden_text.count_hidden(name):
                    yield here, name, True
                yield from _texts(entry, here, in_map=not in_map and name in {"properties", "$defs", "definitions"})


def _trusted_write_unpinned(tool: ClientTool) -> Iterator[Finding]:
    if not (tool.trust_completion and tool.effect is Effect.WRITE) or tool.require_equal:
        return
    shared = sorted(required_fields(tool.input_schema) & required_fields(tool.output_schema))
    if shared:
        yield Finding(
            "trusted_write_unpinned",
            Severity.WARN,
            "/require_equal",
            f"The client's report may name another {_and(shared)} than was authorised, although call and report both "
            "must carry it.",
            f"Pin it: require_equal = {_quoted(shared)}.",
        )


def _output_accepts_anything(tool: ClientTool) -> Iterator[Finding]:
    schema = tool.output_schema
    if schema is ABSENT or not unenforced.accepts_any_object(schema):
        return
    whom = "a client's report" if tool.trust_completion else "what a person records"
    yield Finding(
        "output_accepts_anything",
        Severity.WARN,
        "/output_schema",
        f"The output schema says nothing about {whom}: whatever comes passes it.",
        "Name the fields an output must have under required and properties, with their types.",
    )


def _identity_leaves_out(tool: ClientTool) -> Iterator[Finding]:
    if tool.effect is not Effect.WRITE or not tool.idempotency_key:
        return
    for field in sorted(required_fields(tool.input_schema) - set(tool.idempotency_key)):
        schema = _property(tool.input_schema, field)
        if _cannot_differ(schema):
            continue
        amount = tool_names.is_amount(field)
        if amount or tool_names.is_party(field):
            what = "how much" if amount else "who"
            yield Finding(
                "identity_leaves_out",
                Severity.WARN,
                pointer("/input_schema/properties", field),
                f"`{field}` says {what}, and is no part of idempotency_key: asked again with another `{field}`, the call is "
                "answered from the record of the first, and nothing is performed.",
                f"Add `{field}` to idempotency_key, or say in review why one {_and(tool.idempotency_key)} never means two.",
            )


def _property(schema: Any, field: str) -> Any:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties.get(field) if isinstance(properties, dict) else None


def _cannot_differ(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    values = schema.get("enum")
    return schema.get("type") == "boolean" or "const" in schema or (isinstance(values, list) and len(values) == 1)


def _taken_for_another(tool: ClientTool) -> Iterator[Finding]:
    if why := tool_names.taken_for_another(tool.name):
        yield Finding(
            "name_taken_for_another",
            Severity.WARN,
            "/name",
            f"The name {why}. Names are compared letter by letter.",
            "Write the name anew from the keyboard, in the letters of one script.",
        )


def _keyword_unenforced(tool: ClientTool) -> Iterator[Finding]:
    for side, schema in _sides(tool):
        for place, what in unenforced.ignored(schema, f"/{side}"):
            yield Finding(
                "keyword_unenforced",
                Severity.WARN,
                place,
                f"{what} is checked here, and not by a Salvor server that loads the exported file.",
                "Nothing, where all calls come through here; else say the same with keywords it checks.",
            )


def _effect_belied(tool: ClientTool) -> Iterator[Finding]:
    if tool.effect is Effect.WRITE:
        return
    verb = tool_names.promised_change(tool.name)
    if verb is not None:
        freely = (
            "may be repeated without a thought" if tool.effect is Effect.READ else "may be repeated under the same key"
        )
        yield Finding(
            "effect_belied_by_name",
            Severity.WARN,
            "/effect",
            f"The name says “{verb}”, and the effect {tool.effect.value} says that a call {freely}.",
            "Declare the effect as write, unless the provider itself promises that doing it twice does it once.",
        )


_RULES: Final[tuple[Callable[[ClientTool], Iterator[Finding]], ...]] = (
    _never_completable,
    _pattern_refused,
    _hidden_characters,
    _trusted_write_unpinned,
    _output_accepts_anything,
    _identity_leaves_out,
    _effect_belied,
    _taken_for_another,
    _keyword_unenforced,
)


def _sides(tool: ClientTool) -> Iterator[tuple[str, Any]]:
    yield "input_schema", tool.input_schema
    if tool.output_schema is not ABSENT:
        yield "output_schema", tool.output_schema


def _and(names: Any) -> str:
    return " and ".join(f"`{name}`" for name in names)


def _quoted(names: list[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
