"""Closed member tables: what a document of a fixed shape may hold, and the canonical tree of what it says (contract 5.6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json, pointer


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands, dotted for people and as a JSON pointer for programs."""

    dotted: str = ""
    pointer: str = ""

    def member(self, name: str) -> Place:
        return Place(f"{self.dotted}.{name}" if self.dotted else name, pointer(self.pointer, name))

    def item(self, index: int) -> Place:
        return Place(f"{self.dotted}[{index}]", pointer(self.pointer, index))

    def __str__(self) -> str:
        return self.dotted or "the document"


Kind = Callable[[Json, Place], Json]


class Presence(Enum):
    """When a member stands in the canonical tree."""

    REQUIRED = "has to be given"
    ALWAYS = "its default stands in for it"
    OPTIONAL = "left out when absent or null"
    UNLESS_EMPTY = "left out when absent, empty or false; null is refused"


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a shape; its order in the shape is the order of the list form."""

    name: str
    kind: Kind
    presence: Presence = Presence.OPTIONAL
    default: Json = None


@dataclass(frozen=True, slots=True)
class Shape:
    """A closed object; with `positional` a list of its members' values in order is read as well, as agentplane does."""

    noun: str
    members: tuple[Member, ...]
    positional: bool = True

    def __call__(self, value: Json, place: Place) -> dict[str, Any]:
        """The canonical tree of a value, or a refusal that names the member."""
        given = self._given(value, place)
        known = {member.name: member for member in self.members}
        read: dict[str, Any] = {}
        for name, inner in given.items():
            if name not in known:
                raise wrong_shape(
                    place.member(name),
                    f"{self.noun} has no member `{name}`; the members are {', '.join(known)}",
                )
            member = known[name]
            if inner is None and member.presence is Presence.OPTIONAL:
                continue
            read[name] = member.kind(inner, place.member(name))
        tree: dict[str, Any] = {}
        for member in self.members:
            if member.name in read:
                value_read = read[member.name]
                if member.presence is Presence.UNLESS_EMPTY and value_read in ([], {}, False):
                    continue
                tree[member.name] = value_read
            elif member.presence is Presence.REQUIRED:
                raise wrong_shape(place, f"the member `{member.name}` is missing; add it")
            elif member.presence is Presence.ALWAYS:
                tree[member.name] = member.default if not isinstance(member.default, list) else list(member.default)
        return tree

    def _given(self, value: Json, place: Place) -> Mapping[str, Json]:
        if isinstance(value, dict):
            return value
        if isinstance(value, list) and self.positional:
            if len(value) > len(self.members):
                raise wrong_shape(place, f"a list of {len(value)} values stands for {self.noun}; write it as a mapping")
            return {member.name: inner for member, inner in zip(self.members, value, strict=False)}
        raise wrong_shape(place, f"it is {named(value)}, but {self.noun} is a mapping")


def wrong_shape(place: Place, why: str) -> Refusal:
    return Refusal("manifest_structure", f"{place}: {why}.", place=place.pointer)


def named(value: Json) -> str:
    """A value as a refusal calls it, never longer than a line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, (int, float)):
        return f"the number {value!r}"
    if isinstance(value, str):
        return f"the text '{value}'" if len(value) <= 80 else f"a text of {len(value)} characters"
    return "an array" if isinstance(value, list) else "a mapping"


# --- kinds of members ------------------------------------------------------------------------------------------------


def text(value: Json, place: Place) -> Json:
    if not isinstance(value, str):
        raise wrong_shape(place, f"it is {named(value)}, but a text is needed; put it in quotes")
    return value


def boolean(value: Json, place: Place) -> Json:
    if not isinstance(value, bool):
        raise wrong_shape(place, f"it is {named(value)}, but only an unquoted true or false is read")
    return value


def anything(value: Json, _: Place) -> Json:
    return value


def number(value: Json, place: Place) -> Json:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong_shape(place, f"it is {named(value)}, but a number is needed")
    return float(value)


def unsigned(bits: int) -> Kind:
    """A whole number from 0 that fits into so many bits; `4.0` is none."""

    def read(value: Json, place: Place) -> Json:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**bits:
            raise wrong_shape(place, f"it is {named(value)}, but a whole number from 0 to {2**bits - 1} is needed")
        return value

    return read


def word(*words: str) -> Kind:
    """One of a closed set of words; agentplane also reads `{word: null}`."""

    def read(value: Json, place: Place) -> Json:
        if isinstance(value, dict) and len(value) == 1 and next(iter(value.values())) is None:
            value = next(iter(value))
        if not isinstance(value, str) or value not in words:
            raise wrong_shape(place, f"it is {named(value)}, but only {', '.join(words)} are known")
        return value

    return read


def list_of(kind: Kind) -> Kind:
    def read(value: Json, place: Place) -> Json:
        if not isinstance(value, list):
            raise wrong_shape(place, f"it is {named(value)}, but a list is needed")
        return [kind(inner, place.item(index)) for index, inner in enumerate(value)]

    return read


def map_of(kind: Kind) -> Kind:
    def read(value: Json, place: Place) -> Json:
        if not isinstance(value, dict):
            raise wrong_shape(place, f"it is {named(value)}, but a mapping is needed")
        return {name: kind(inner, place.member(name)) for name, inner in value.items()}

    return read


def required(name: str, kind: Kind) -> Member:
    return Member(name, kind, Presence.REQUIRED)


def always(name: str, kind: Kind, default: Json) -> Member:
    return Member(name, kind, Presence.ALWAYS, default)


def optional(name: str, kind: Kind) -> Member:
    return Member(name, kind)


def unless_empty(name: str, kind: Kind) -> Member:
    return Member(name, kind, Presence.UNLESS_EMPTY)
