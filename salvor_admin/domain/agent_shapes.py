"""What the frame of a manifest may hold, as closed tables of members (contract 5.3)."""

from __future__ import annotations

import re

from salvor_admin.domain.grants import SENSITIVITY, is_pointer
from salvor_admin.domain.shapes import (
    Kind,
    Place,
    Shape,
    always,
    anything,
    boolean,
    list_of,
    map_of,
    named,
    number,
    optional,
    required,
    text,
    unless_empty,
    unsigned,
    word,
    wrong_shape,
)
from salvor_admin.domain.strict_json import Json

_SUBJECT = re.compile(r"\$(?:\$.*|case|correlation/.+|input(?:/.*)?)", re.DOTALL)


def _memory_subject(value: Json, place: Place) -> Json:
    """A scope name; one that starts with `$` has to be a known binding, since a typo would be filed under itself."""
    text(value, place)
    if value.startswith("$") and not _SUBJECT.fullmatch(value):
        raise wrong_shape(
            place,
            f"it is {named(value)}, but after `$` only $correlation/NAME, $case, $input/POINTER and $$ are known "
            "where a subject stands",
        )
    return value


def _data_subject(value: Json, place: Place) -> Json:
    text(value, place)
    if value != "$case" and not (value.startswith("$input") and is_pointer(value.removeprefix("$input"))):
        raise wrong_shape(place, f"it is {named(value)}, but a data subject is $case or $input/POINTER")
    return value


def _condition(value: Json, place: Place) -> Json:
    """A triage condition: a path and the first operator that stands there; agentplane drops a second one silently."""
    if not isinstance(value, dict):
        raise wrong_shape(place, f"it is {named(value)}, but a condition is a mapping of a path and an operator")
    if "path" not in value:
        raise wrong_shape(place, "the member `path` is missing; add it")
    read: dict[str, Json] = {"path": text(value["path"], place.member("path"))}
    for name, operand in value.items():
        if name in _OPERATORS:
            read[name] = _OPERATORS[name](operand, place.member(name))
            return read
    raise wrong_shape(place, f"a condition of spec.oversight.triage needs one operator of {', '.join(_OPERATORS)}")


_OPERATORS: dict[str, Kind] = {
    "equals": anything,
    "in": list_of(anything),
    "at_least": number,
    "at_most": number,
    "exists": boolean,
}


def _action(*, redacting: bool) -> Kind:
    known = "refuse, {classify: SENSITIVITY}" + (" and {redact: TOKEN}" if redacting else "")

    def read(value: Json, place: Place) -> Json:
        if value == "refuse":
            return value
        if isinstance(value, dict) and len(value) == 1:
            (verb, operand), *_ = value.items()
            if verb == "classify":
                return {verb: SENSITIVITY(operand, place.member(verb))}
            if verb == "redact" and redacting:
                return {verb: text(operand, place.member(verb))}
        raise wrong_shape(place, f"it is {named(value)}, but only {known} are known")

    return read


METADATA = Shape(
    "metadata",
    (required("name", text), required("version", text), unless_empty("annotations", map_of(text))),
)

IDENTITY = Shape("identity", (required("role", text), always("constraints", text, "")))

_BOUNDARY = word("model.complete", "tool.call", "event.await", "media.fetch", "memory.recall")

POSITIONS = Shape(
    "`at`",
    (
        unless_empty("admission", boolean),
        unless_empty("sources", list_of(_BOUNDARY)),
        unless_empty("sinks", list_of(_BOUNDARY)),
    ),
    positional=False,
)

CONTENT = Shape(
    "content",
    (
        always(
            "rules",
            list_of(
                Shape(
                    "a content rule",
                    (
                        required("id", text),
                        required(
                            "match",
                            Shape(
                                "`match`",
                                (
                                    optional("pattern", text),
                                    unless_empty("luhn", boolean),
                                    unless_empty("contains", list_of(text)),
                                    optional("case", word("fold")),
                                    unless_empty("invisible", boolean),
                                ),
                                positional=False,
                            ),
                        ),
                        required("at", POSITIONS),
                        unless_empty("fields", list_of(text)),
                        required("then", _action(redacting=True)),
                    ),
                    positional=False,
                )
            ),
            [],
        ),
        unless_empty(
            "checks",
            list_of(
                Shape(
                    "a content check",
                    (
                        required("id", text),
                        required("checker", text),
                        required("at", POSITIONS),
                        required("on", map_of(_action(redacting=False))),
                    ),
                    positional=False,
                )
            ),
        ),
    ),
    positional=False,
)

SECURITY = Shape(
    "security",
    (
        optional("max_sensitivity_egress", SENSITIVITY),
        optional("max_sensitivity_journaled", SENSITIVITY),
        optional("max_delegation_depth", unsigned(8)),
        optional("content", CONTENT),
    ),
)

CAPABILITIES = Shape("capabilities", (always("provides", list_of(text), []),))

BUDGETS = Shape(
    "budgets",
    (
        optional("max_steps", unsigned(64)),
        optional("max_effects", unsigned(64)),
        optional("max_tokens", unsigned(64)),
        optional("max_minor_units", unsigned(64)),
        optional("max_replans", unsigned(32)),
        optional("max_wallclock_secs", unsigned(64)),
        optional("max_denials", unsigned(32)),
        optional("max_egress_bytes", unsigned(64)),
        optional("max_parallel_steps", unsigned(64)),
    ),
)

CONTEXT = Shape(
    "context",
    (
        always(
            "prompts",
            list_of(
                Shape(
                    "a context prompt",
                    (
                        required("server", text),
                        required("name", text),
                        always("max_input_sensitivity", SENSITIVITY, "public"),
                        always("output_sensitivity", SENSITIVITY, "public"),
                    ),
                )
            ),
            [],
        ),
        always(
            "resources",
            list_of(
                Shape(
                    "a context resource",
                    (
                        required("server", text),
                        required("uri", text),
                        always("output_sensitivity", SENSITIVITY, "public"),
                    ),
                )
            ),
            [],
        ),
        always(
            "task_input",
            list_of(
                Shape(
                    "a task input grant",
                    (required("server", text), always("max_input_sensitivity", SENSITIVITY, "public")),
                )
            ),
            [],
        ),
    ),
)


def _context(value: Json, place: Place) -> Json:
    read = CONTEXT(value, place)
    return read if any(read.values()) else {}


DEADLINE = Shape("a deadline", (required("name", text), required("kind", text), always("params", anything, None)))

OVERSIGHT = Shape(
    "oversight",
    (
        required("approval", word("required", "tools-only", "none")),
        unless_empty("approvers", list_of(text)),
        optional("deadline", DEADLINE),
        always("on_expiry", word("deny", "escalate", "proceed"), "deny"),
        unless_empty("escalate_to", list_of(text)),
        always("allow_unattended", boolean, False),
        unless_empty(
            "triage",
            list_of(
                Shape(
                    "a triage rule",
                    (
                        required("name", text),
                        required("summary", text),
                        required("when", list_of(_condition)),
                        always("audience", list_of(text), []),
                        required("deadline", DEADLINE),
                        always("priority", word("low", "normal", "high", "urgent"), "normal"),
                    ),
                    positional=False,
                )
            ),
        ),
    ),
)

EXECUTION = Shape(
    "execution",
    (required("kind", word("completion", "tool-calling", "planned", "call")), optional("max_turns", unsigned(32))),
)

TOPOLOGY = Shape(
    "topology",
    (
        always("mode", word("single", "collaborative"), "single"),
        always("role", word("specialist", "orchestrator"), "specialist"),
        optional("reason", word("parallel-disjoint", "distinct-authority")),
    ),
)

MODEL = Shape(
    "a model",
    (
        required("provider", text),
        required("model", text),
        optional("max_tokens", unsigned(32)),
        optional("max_input_tokens", unsigned(32)),
        optional("reasoning_effort", word("none", "minimal", "low", "medium", "high", "x-high", "max")),
        unless_empty("reasoning_summary", boolean),
        optional(
            "compaction",
            Shape("compaction", (required("trigger_tokens", unsigned(32)), optional("instructions", text))),
        ),
        optional(
            "pricing",
            Shape(
                "pricing",
                tuple(
                    required(name, unsigned(64))
                    for name in ("input", "output", "cache_read", "cache_write", "cache_write_1h")
                ),
            ),
        ),
    ),
    positional=False,
)

MODELS = Shape("models", (optional("privileged", MODEL), optional("quarantined", MODEL)))

INPUT = Shape("input", (required("schema", anything),))
OUTPUT = Shape("output", (required("schema", anything),))

MEMORY = Shape(
    "memory",
    (
        optional(
            "recall",
            Shape(
                "a recall",
                (
                    required("subject", _memory_subject),
                    optional("purpose", text),
                    always("limit", unsigned(64), 5),
                    always("refresh_access", boolean, False),
                ),
            ),
        ),
        optional(
            "formation",
            Shape(
                "a formation",
                (
                    required("subject", _memory_subject),
                    required("purpose", text),
                    required("instruction", text),
                    always("max_items", unsigned(64), 3),
                    optional("retention_seconds", unsigned(64)),
                    optional("access_retention_seconds", unsigned(64)),
                    always("max_sensitivity", SENSITIVITY, "public"),
                ),
            ),
        ),
    ),
)


def spec_shape(tools: Kind) -> Shape:
    """The shape of `spec`, its tools being whole grants or only their references."""
    return Shape(
        "spec",
        (
            optional("identity", IDENTITY),
            always("security", SECURITY, {}),
            always("capabilities", CAPABILITIES, {"provides": []}),
            optional("budgets", BUDGETS),
            always("tools", list_of(tools), []),
            unless_empty("context", _context),
            optional("oversight", OVERSIGHT),
            optional("execution", EXECUTION),
            optional("topology", TOPOLOGY),
            optional("models", MODELS),
            optional("model", MODEL),
            optional("input", INPUT),
            optional("output", OUTPUT),
            optional("memory", MEMORY),
            unless_empty("data_subjects", list_of(_data_subject)),
        ),
    )


def document_shape(tools: Kind) -> Shape:
    """The shape of a whole manifest document."""
    return Shape(
        "a manifest",
        (
            required("apiVersion", text),
            required("kind", text),
            required("metadata", METADATA),
            required("spec", spec_shape(tools)),
        ),
    )
