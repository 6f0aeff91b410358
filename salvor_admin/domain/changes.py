"""What differs between two bodies of a document: by JSON pointer first, then in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from salvor_admin.domain import canonical
from salvor_admin.domain.strict_json import Json


class Missing:
    """The side of a change where the member does not stand; no JSON value, so null is told apart."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()
#: A sentence that quotes more than this is no sentence any more.
LONGEST_TOLD = 300


class Direction(StrEnum):
    """Whether more is possible afterwards, or less; what cannot be told counts as loosening."""

    LOOSENING = "loosening"
    TIGHTENING = "tightening"
    NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Change:
    """One member that differs: `was` or `now` is MISSING where it was added or removed."""

    path: str
    was: Any
    now: Any


@dataclass(frozen=True, slots=True)
class Meaning:
    """One change in a sentence, with its direction."""

    direction: Direction
    sentence: str
    path: str


def pointer(path: str, name: str) -> str:
    """`path` one member deeper, escaped as RFC 6901 says."""
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"


def between(was: Json | Missing, now: Json | Missing, path: str = "") -> list[Change]:
    """The changes from one value to the other, smallest members first named, in order of their names."""
    return list(_between(was, now, path))


def _between(was: Any, now: Any, path: str) -> Iterator[Change]:
    if isinstance(was, dict) and isinstance(now, dict):
        for name in sorted(was.keys() | now.keys()):
            yield from _between(was.get(name, MISSING), now.get(name, MISSING), pointer(path, name))
    elif isinstance(was, Missing) or isinstance(now, Missing):
        if was is not now:
            yield Change(path, was, now)
    elif canonical.text(was) != canonical.text(now):
        yield Change(path, was, now)


#: Schema keywords whose greater number allows more, and those whose greater number allows less.
_UPPER = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"})
_LOWER = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"})
_WORDS_ONLY = frozenset({"title", "description", "examples", "$comment", "default", "deprecated"})


def client_tool_meanings(was: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> list[Meaning]:
    """Each change of a client tool in words, loosening first."""
    if now is None:
        return [Meaning(Direction.TIGHTENING, "The tool is taken out of service: no new call of it is recorded.", "")]
    if was is None:
        return _new_tool(now)
    found = list(_members(was, now))
    order = {Direction.LOOSENING: 0, Direction.TIGHTENING: 1, Direction.NEUTRAL: 2}
    return sorted(found, key=lambda meaning: order[meaning.direction])


def _new_tool(now: Mapping[str, Any]) -> list[Meaning]:
    trusted = now.get("trust_completion") is True
    name = now.get("name")
    found = [Meaning(Direction.LOOSENING, f"Runtimes may open calls of {name}, which no revision allowed before.", "")]
    if trusted:
        found.append(
            Meaning(
                Direction.LOOSENING,
                "The client's own word settles a call, within the output schema.",
                "/trust_completion",
            )
        )
    else:
        found.append(Meaning(Direction.TIGHTENING, "A person settles every call of it.", "/trust_completion"))
    for field in now.get("require_equal") or []:
        found.append(
            Meaning(
                Direction.TIGHTENING, f"A report may not differ from what was authorised in {field}.", "/require_equal"
            )
        )
    identity = now.get("idempotency_key") or []
    if identity:
        found.append(
            Meaning(
                Direction.NEUTRAL,
                f"Within a run, the same {' and '.join(identity)} is the same call and is performed once.",
                "/idempotency_key",
            )
        )
    return found


def _members(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Meaning]:
    if was.get("trust_completion") != now.get("trust_completion"):
        if now.get("trust_completion"):
            yield Meaning(Direction.LOOSENING, "The client's own word now settles this call.", "/trust_completion")
        else:
            yield Meaning(
                Direction.TIGHTENING,
                "A person settles each call; the client's word no longer does.",
                "/trust_completion",
            )
    if was.get("effect") != now.get("effect"):
        order = {"read": 2, "idempotent": 1, "write": 0}
        loosens = order.get(str(now.get("effect")), 2) > order.get(str(was.get("effect")), 0)
        yield Meaning(
            Direction.LOOSENING if loosens else Direction.TIGHTENING,
            f"Its effect class is {now.get('effect')} instead of {was.get('effect')}: "
            + ("it may be repeated more freely." if loosens else "it is repeated less freely."),
            "/effect",
        )
    yield from _lists(was, now)
    for side in ("input_schema", "output_schema"):
        yield from _schema(was.get(side, MISSING), now.get(side, MISSING), side)
    if canonical.text(was.get("notes", {})) != canonical.text(now.get("notes", {})):
        yield Meaning(Direction.NEUTRAL, "The notes for settlers changed.", "/notes")


def _lists(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Meaning]:
    before, after = list(was.get("require_equal") or []), list(now.get("require_equal") or [])
    for field in before:
        if field not in after:
            yield Meaning(
                Direction.LOOSENING, f"A report may now differ from what was authorised in {field}.", "/require_equal"
            )
    for field in after:
        if field not in before:
            yield Meaning(
                Direction.TIGHTENING,
                f"A report may no longer differ from what was authorised in {field}.",
                "/require_equal",
            )
    identity_before, identity_after = set(was.get("idempotency_key") or []), set(now.get("idempotency_key") or [])
    if identity_before != identity_after:
        told = " and ".join(sorted(identity_after)) or "its position in the run"
        # Fewer calls count as the same one when a field joins the identity, or when there is none at all.
        looser = bool(identity_before) and (not identity_after or identity_after > identity_before)
        yield Meaning(
            Direction.LOOSENING if looser or identity_before - identity_after else Direction.TIGHTENING,
            f"What makes two asks the same call is now {told}"
            + (
                f"; it was {' and '.join(sorted(identity_before))}."
                if identity_before
                else "; it was the position alone."
            ),
            "/idempotency_key",
        )


def _schema(was: Any, now: Any, side: str) -> Iterator[Meaning]:
    word = "input" if side == "input_schema" else "output"
    if isinstance(was, Missing) and isinstance(now, Missing):
        return
    if isinstance(now, Missing):
        yield Meaning(Direction.LOOSENING, f"The {word} is no longer held to any schema.", f"/{side}")
        return
    if isinstance(was, Missing):
        yield Meaning(Direction.TIGHTENING, f"The {word} is now held to a schema.", f"/{side}")
        return
    for change in between(was, now, f"/{side}"):
        yield _schema_change(change, word)


def _told(value: Any) -> str:
    text = "absent" if isinstance(value, Missing) else canonical.text(value)
    return text if len(text) <= LONGEST_TOLD else f"{text[:LONGEST_TOLD]}… ({len(text)} characters)"


def _schema_change(change: Change, word: str) -> Meaning:
    parts = [part.replace("~1", "/").replace("~0", "~") for part in change.path.split("/")[2:]]
    keyword = parts[-1] if parts else ""
    field = ".".join(part for part, before in zip(parts, ["", *parts], strict=False) if before == "properties")
    where = f"{word} field {field}" if field else word
    was, now = change.was, change.now
    spelled, before = _told(now), _told(was)
    if keyword in _WORDS_ONLY and (len(parts) < 2 or parts[-2] != "properties"):
        return Meaning(Direction.NEUTRAL, f"The {keyword} of the {where} was reworded.", change.path)
    if len(parts) >= 2 and parts[-2] == "properties":
        if isinstance(was, Missing):
            return Meaning(Direction.TIGHTENING, f"The {where} is described and checked where it stands.", change.path)
        if isinstance(now, Missing):
            return Meaning(Direction.LOOSENING, f"The {where} is no longer described or checked.", change.path)
    if keyword == "required":
        dropped = [name for name in was if name not in now] if isinstance(was, list) and isinstance(now, list) else []
        if isinstance(now, Missing) or dropped:
            gone = ", ".join(map(str, dropped)) or before
            return Meaning(Direction.LOOSENING, f"The {where} no longer requires {gone}.", change.path)
        return Meaning(Direction.TIGHTENING, f"The {where} requires {spelled}; it required {before}.", change.path)
    if keyword in _UPPER | _LOWER:
        return _bound(change, keyword, where, before, spelled)
    if keyword == "enum" and isinstance(now, list) and isinstance(was, list):
        added = [item for item in now if not any(canonical.equal(item, other) for other in was)]
        direction = Direction.LOOSENING if added else Direction.TIGHTENING
        return Meaning(direction, f"The {where} may be one of {spelled}; it was one of {before}.", change.path)
    if isinstance(now, Missing):
        return Meaning(Direction.LOOSENING, f"The {where} is no longer limited by {keyword} {before}.", change.path)
    if isinstance(was, Missing):
        return Meaning(Direction.TIGHTENING, f"The {where} is now limited by {keyword} {spelled}.", change.path)
    return Meaning(Direction.LOOSENING, f"The {keyword} of the {where} is {spelled}; it was {before}.", change.path)


def _bound(change: Change, keyword: str, where: str, before: str, spelled: str) -> Meaning:
    was, now = change.was, change.now
    if isinstance(now, Missing):
        return Meaning(Direction.LOOSENING, f"The {where} has no {keyword} any more; it was {before}.", change.path)
    if isinstance(was, Missing):
        return Meaning(Direction.TIGHTENING, f"The {where} has a {keyword} of {spelled} now.", change.path)
    comparable = all(isinstance(side, int | float) and not isinstance(side, bool) for side in (was, now))
    tighter = comparable and ((now < was) if keyword in _UPPER else (now > was))
    return Meaning(
        Direction.TIGHTENING if tighter else Direction.LOOSENING,
        f"The {keyword} of the {where} is {spelled}; it was {before}.",
        change.path,
    )
