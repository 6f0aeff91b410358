"""Labels: where a value came from, how far it is trusted, how sensitive it is (contract 1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from salvor_admin.domain.strict_json import Json, pointer


class Sensitivity(StrEnum):
    """How much damage disclosure would do, from least to most."""

    PUBLIC = "public"
    INTERNAL = "internal"
    CONFIDENTIAL = "confidential"
    SECRET = "secret"  # noqa: S105

    @property
    def level(self) -> int:
        return _LEVELS[self]

    def above(self, ceiling: Sensitivity) -> bool:
        return self.level > ceiling.level


_LEVELS = {each: level for level, each in enumerate(Sensitivity)}


def highest(*levels: Sensitivity | None) -> Sensitivity:
    """The most sensitive of those given, public when none is."""
    return max((each for each in levels if each is not None), key=_LEVELS.__getitem__, default=Sensitivity.PUBLIC)


def strictest(*ceilings: Sensitivity | None) -> Sensitivity:
    """The lowest ceiling of those set, secret when none is."""
    return min((each for each in ceilings if each is not None), key=_LEVELS.__getitem__, default=Sensitivity.SECRET)


class Trust(StrEnum):
    """Whether a value may stand where authority is needed."""

    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"


@dataclass(frozen=True, slots=True)
class Label:
    """What is known of a value's origin; the default is a trusted constant, which comes from nowhere."""

    trust: Trust = Trust.TRUSTED
    sensitivity: Sensitivity = Sensitivity.PUBLIC
    provenance: frozenset[str] = frozenset()

    def sources(self) -> list[str]:
        """The source names in byte order."""
        return sorted(self.provenance, key=str.encode)


TRUSTED_CONSTANT = Label()


def join(labels: Iterable[Label]) -> Label:
    """The label of what was made from all of them: worse trust, higher sensitivity, every source."""
    trust, sensitivity, provenance = Trust.TRUSTED, Sensitivity.PUBLIC, set[str]()
    for each in labels:
        trust = Trust.UNTRUSTED if each.trust is Trust.UNTRUSTED else trust
        sensitivity = highest(sensitivity, each.sensitivity)
        provenance |= each.provenance
    return Label(trust, sensitivity, frozenset(provenance))


def from_outside(source: str) -> Label:
    """The label of a value taken from an outside source."""
    return Label(Trust.UNTRUSTED, Sensitivity.INTERNAL, frozenset({source}))


def tool_result(reference: str, output_sensitivity: Sensitivity = Sensitivity.PUBLIC) -> Label:
    """The label of a tool's answer or failure text; its arguments' label does not flow into it."""
    return Label(Trust.UNTRUSTED, highest(Sensitivity.INTERNAL, output_sensitivity), frozenset({reference}))


def model_completion(
    source: str,
    *,
    ceiling: Sensitivity | None = None,
    output_sensitivity: Sensitivity | None = None,
    conversation: Label = TRUSTED_CONSTANT,
) -> Label:
    """The label of a model's answer; `conversation` is what the call continues, nothing when it stands alone."""
    own = Label(Trust.UNTRUSTED, highest(Sensitivity.INTERNAL, ceiling, output_sensitivity), frozenset({source}))
    return join((own, conversation))


# --- labelled values -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mark:
    """A recorded release for one destination: it may trust the value there or cap its sensitivity, nothing else.

    `scope` is empty for the whole value, else the pointer of the field it covers with all that is below it.
    """

    destination: str
    trust: bool = False
    sensitivity: Sensitivity | None = None
    scope: str = ""

    def covers(self, path: str) -> bool:
        return self.scope == "" or path == self.scope or path.startswith(f"{self.scope}/")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A value with its whole label, the labels of some fields by JSON pointer, and its release marks."""

    value: Json
    label: Label = TRUSTED_CONSTANT
    fields: Mapping[str, Label] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()


def built_object(members: Sequence[tuple[str, Labelled]]) -> Labelled:
    """An object of labelled members; of two of one name the last counts, but the whole keeps both labels."""
    last = dict(members)
    return _built(
        {name: part.value for name, part in last.items()},
        [part for _, part in members],
        [(pointer("", name), part) for name, part in last.items()],
    )


def built_array(items: Sequence[Labelled]) -> Labelled:
    """An array of labelled items."""
    return _built([part.value for part in items], items, [(f"/{index}", part) for index, part in enumerate(items)])


def _built(value: Json, parts: Sequence[Labelled], placed: Sequence[tuple[str, Labelled]]) -> Labelled:
    fields: dict[str, Label] = {}
    marks: list[Mark] = []
    for at, part in placed:
        fields[at] = part.label
        fields.update((at + inner, label) for inner, label in part.fields.items())
        marks.extend(replace(mark, scope=at + mark.scope) for mark in part.marks)
    return Labelled(value, join(part.label for part in parts), fields, tuple(marks))


def rewritten(labelled: Labelled, value: Json) -> Labelled:
    """The same value after an arbitrary rewrite: no field labels, and only marks of the whole."""
    return Labelled(value, labelled.label, {}, tuple(mark for mark in labelled.marks if mark.scope == ""))


def combined(one: Labelled, other: Labelled, value: Json) -> Labelled:
    """A value made of two: their joined label, no field labels and no marks."""
    return Labelled(value, join((one.label, other.label)))


_MISSING: Any = object()
_INDEX = re.compile(r"0|[1-9][0-9]*")


def resolve(value: Json, path: str) -> Json:
    """What a pointer selects, or `NOTHING`; no wildcards, no `-`, no leading zeros."""
    if path == "":
        return value
    if not path.startswith("/"):
        return _MISSING
    for token in path.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and _INDEX.fullmatch(name) and len(name) < 10 and int(name) < len(value):
            value = value[int(name)]
        else:
            return _MISSING
    return value


NOTHING = _MISSING


def label_at(labelled: Labelled, path: str) -> Label | None:
    """The label of a field: its own, else its nearest labelled ancestor's, else the whole's; None where nothing is."""
    if resolve(labelled.value, path) is NOTHING:
        return None
    while path:
        if path in labelled.fields:
            return labelled.fields[path]
        path = path.rpartition("/")[0]
    return labelled.label


def effective(labelled: Labelled, destination: str, path: str = "") -> Label | None:
    """The label that one destination sees at a path, release marks for it applied; provenance never changes."""
    label = label_at(labelled, path)
    if label is None:
        return None
    for mark in labelled.marks:
        if mark.destination == destination and mark.covers(path):
            label = replace(
                label,
                trust=Trust.TRUSTED if mark.trust else label.trust,
                sensitivity=strictest(label.sensitivity, mark.sensitivity),
            )
    return label


def is_release(
    *,
    trust: bool,
    sensitivity: Sensitivity | None,
    basis: str,
    destination: str,
    fields: Sequence[str],
    evidence: Sequence[str],
) -> bool:
    """Whether a release of this form can be made at all."""
    whole = list(fields) == [""]
    some = bool(fields) and all(_is_field_pointer(path) for path in fields)
    said = all(text.strip() for text in (basis, destination, *evidence)) and bool(evidence)
    return (whole or some) and said and (trust or sensitivity is not None)


def _is_field_pointer(path: str) -> bool:
    return path.startswith("/") and all(after[:1] in ("0", "1") for after in path.split("~")[1:])
