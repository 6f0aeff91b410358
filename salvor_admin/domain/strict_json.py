"""Reading JSON so that numbers keep their spelling: `1` is an int, `1.0` and `-0` are floats."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from decimal import Decimal, InvalidOperation
from itertools import accumulate
from typing import Any, NoReturn, TypeAlias

from salvor_admin.domain import json_skim
from salvor_admin.domain.refusals import Refusal

Json: TypeAlias = Any  # None | bool | int | float | str | list[Json] | dict[str, Json]

MAX_DEPTH = 127
MAX_VALUE_DEPTH = 124  # inputs and outputs: three more containers stand round them once they are events
MAX_PAYLOAD_VALUE_DEPTH = 122
MAX_STRICT_DEPTH = 64

_I64_MIN = -(2**63)
_U64_MAX = 2**64 - 1


class Doubled(dict[str, Any]):
    """An object in which some member stood twice; the last one counts. `names` are those members."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        self.names = frozenset(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]


class _Undecided(ValueError):
    """The quick path cannot tell; the exact one must look."""


def _refuse(message: str, *, place: str | None = None) -> NoReturn:
    raise Refusal("bad_request", message, place=place)


# --- numbers ---------------------------------------------------------------------------------------------------------


def fits(number: int) -> bool:
    """Whether an integer stays an integer: i64 or u64 (contract 3.4)."""
    return _I64_MIN <= number <= _U64_MAX


def _integer(text: str) -> int | float:
    if len(text) < 19:
        return int(text) if text != "-0" else -0.0
    if len(text) <= 20 and fits(number := int(text)):
        return number
    return _float(text)


def _float(text: str) -> float:
    number = float(text)
    if number - number != 0.0:
        raise _Undecided(f"the number {_short(text)} is outside the range of a double; send it as a string")
    return number


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:20]}… ({len(text)} characters)"


def _constant(text: str) -> NoReturn:
    raise _Undecided(f"{text} is not a JSON number; leave the member out or send null")


# --- free values -----------------------------------------------------------------------------------------------------

_decode = json.JSONDecoder(parse_float=_float, parse_int=_integer, parse_constant=_constant).decode


def _pairs_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Undecided("a member stands twice")
    return members


def _pairs_marked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else Doubled(pairs)


_decode_once = json.JSONDecoder(
    parse_float=_float, parse_int=_integer, parse_constant=_constant, object_pairs_hook=_pairs_once
).decode
_decode_marked = json.JSONDecoder(
    parse_float=_float, parse_int=_integer, parse_constant=_constant, object_pairs_hook=_pairs_marked
).decode

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_NO_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^\[\]{}"]++', re.DOTALL)
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


def _has_lone_surrogate(text: str) -> bool:
    """Only for a text that was read as JSON: there a backslash stands in strings alone."""
    high_ends_at = -1
    for escape in _ESCAPE.finditer(text):
        unit = int(escape[1], 16) if escape[1] else 0
        if high_ends_at >= 0:
            if escape.start() != high_ends_at or not 0xDC00 <= unit <= 0xDFFF:
                return True
            high_ends_at = -1
        elif 0xDC00 <= unit <= 0xDFFF:
            return True
        elif 0xD800 <= unit <= 0xDBFF:
            high_ends_at = escape.end()
    return high_ends_at >= 0


def _text_depth(text: str) -> int:
    """The depth of a text that was read as JSON, values that a later double replaced included."""
    brackets = _NO_BRACKETS.sub("", text)
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0)


def _read(raw: bytes, max_depth: int, decode: Any = _decode) -> Any:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise _Undecided(f"byte {error.start} is not UTF-8; send UTF-8 without a byte order mark") from None
    try:
        value = decode(text)
    except json.JSONDecodeError as error:
        raise _Undecided(f"{_syntax(error)}; send one JSON value") from None
    except RecursionError:
        raise _Undecided(_too_deep(max_depth)) from None
    if text.count("[") + text.count("{") > max_depth and _text_depth(text) > max_depth:
        raise _Undecided(_too_deep(max_depth))
    if ("\\ud" in text or "\\uD" in text) and _has_lone_surrogate(text):
        raise _Undecided("a string holds half a surrogate pair; send both halves or the character itself")
    return value


def _syntax(error: json.JSONDecodeError) -> str:
    return f"{error.msg[:1].lower()}{error.msg[1:]} at line {error.lineno}, column {error.colno}"


def _too_deep(max_depth: int) -> str:
    return f"more than {max_depth} containers stand inside each other; send a flatter value"


def read(raw: bytes, *, max_depth: int = MAX_DEPTH) -> Json:
    """One JSON value, the last of doubled members counting (contract 3.4, 7.5)."""
    try:
        return _read(raw, max_depth)
    except _Undecided as why:
        _refuse(f"The text cannot be read as JSON: {why}.")


def depth(value: Json) -> int:
    """How many containers stand inside each other; 0 for a plain value."""
    deepest = 0
    level = [value]
    while True:
        level = [item for item in level if isinstance(item, (dict, list))]
        if not level:
            return deepest
        deepest += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]


def is_crowded(raw: bytes, most: int) -> bool:
    """Whether a text may hold more than so many values; what stands inside its strings is counted too."""
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{") > most


# --- request bodies --------------------------------------------------------------------------------------------------


def read_members(
    raw: bytes, known: Collection[str], *, array_order: Sequence[str] | None = None, max_depth: int = MAX_DEPTH
) -> dict[str, Json]:
    """The known members of a body. One given twice is refused, unknown ones are skipped unread; an array is
    read as the members of `array_order` in that order (contract 7.5).

    Objects further in may be `Doubled`; ask `refuse_doubled` where their members are known ones too.
    """
    try:
        body = _read(raw, max_depth, _decode_once)
    except _Undecided:
        return _read_members_exactly(raw, known, array_order, max_depth)
    if type(body) is dict:
        return {name: value for name, value in body.items() if name in known}
    if type(body) is list and array_order is not None and len(body) <= len(array_order):
        return dict(zip(array_order, body, strict=False))
    return _read_members_exactly(raw, known, array_order, max_depth)


def refuse_doubled(value: Json, known: Collection[str], *, place: str | None = None) -> None:
    """Refuses an object in which a known member stands twice."""
    if isinstance(value, Doubled):
        for name in known:
            if name in value.names:
                _refuse(
                    f"The member `{name}` stands twice, so it is not clear which one is meant; send it once.",
                    place=place if place is not None else name,
                )


def _read_known(raw: bytes, max_depth: int, place: str) -> Any:
    try:
        return _read(raw, max_depth, _decode_marked)
    except _Undecided as why:
        _refuse(f"The member `{place}` cannot be read as JSON: {why}.", place=place)


def _read_members_exactly(
    raw: bytes, known: Collection[str], array_order: Sequence[str] | None, max_depth: int
) -> dict[str, Any]:
    text = json_skim.Skimmer(raw)
    first = text.next()
    members: dict[str, Any] = {}
    if first == ord("["):
        if array_order is None:
            _refuse("The body is an array; send a JSON object.")
        text.at += 1
        if text.next() != ord("]"):
            while True:
                if len(members) == len(array_order):
                    _refuse(f"The array holds more than {len(array_order)} fields; send {', '.join(array_order)}.")
                place = array_order[len(members)]
                members[place] = _read_known(text.value(), max_depth - 1, place)
                if text.next() != ord(","):
                    break
                text.at += 1
        text.take(b"]")
        text.end()
        return members
    if first != ord("{"):
        text.value()
        text.end()
        _refuse("The body is not a JSON object; send an object with the documented members.")
    text.at += 1
    if text.next() != ord("}"):
        while True:
            name = _read_known(text.plain(json_skim.STRING, "a member name"), 0, "name of a member")
            text.take(b":")
            if name in members:
                _refuse(
                    f"The member `{name}` stands twice, so it is not clear which one is meant; send it once.",
                    place=name,
                )
            value = text.value()
            if name in known:
                members[name] = _read_known(value, max_depth - 1, name)
            if text.next() != ord(","):
                break
            text.at += 1
    text.take(b"}")
    text.end()
    return members


# --- our own surfaces ------------------------------------------------------------------------------------------------


class _Fault:
    """Stands in a read value where a literal stood that no value can carry."""

    def __init__(self, why: str) -> None:
        self.why = why


class _Pairs(list[tuple[str, Any]]):
    """An object's members as they stood."""


def _strict_integer(text: str) -> Any:
    if len(text) <= 20 and fits(number := int(text)):
        return number if text != "-0" else -0.0
    raise _Undecided(f"the integer {_short(text)} is outside the 64-bit range; send it as a string")


def is_kept(spelling: str, number: float) -> bool:
    """Whether the double read from this spelling is the very number that was written."""
    try:
        return Decimal(spelling) == Decimal(repr(number))
    except InvalidOperation:
        # An exponent beyond what is reckoned with: nothing but zero stays what it is.
        return re.search("[1-9]", spelling.lower().partition("e")[0]) is None


def _strict_float(text: str) -> float:
    number = _float(text)
    if not is_kept(text, number):
        raise _Undecided(
            f"the number {_short(text)} would be stored as {number!r}, which is another one; shorten it, or send it as a string"
        )
    return number


_decode_strictly = json.JSONDecoder(
    parse_float=_strict_float, parse_int=_strict_integer, parse_constant=_constant, object_pairs_hook=_pairs_once
).decode


def _or_fault(read_one: Any) -> Any:
    def read_or_mark(text: str) -> Any:
        try:
            return read_one(text)
        except _Undecided as why:
            return _Fault(str(why))

    return read_or_mark


_decode_with_faults = json.JSONDecoder(
    parse_float=_or_fault(_strict_float),
    parse_int=_or_fault(_strict_integer),
    parse_constant=_or_fault(_constant),
    object_pairs_hook=_Pairs,
).decode


def read_strict(raw: bytes, *, max_depth: int = MAX_STRICT_DEPTH) -> Json:
    """One JSON value for our own surfaces: nothing doubled, nothing that storage or another reader would change."""
    if b"\\u0000" not in raw:
        try:
            return _read(raw, max_depth, _decode_strictly)
        except _Undecided:
            pass  # read once more, only to say where
    try:
        marked = _decode_with_faults(raw.decode())
    except UnicodeDecodeError as error:
        _refuse(f"Byte {error.start} is not UTF-8; send UTF-8 without a byte order mark.", place="")
    except json.JSONDecodeError as error:
        _refuse(f"The text is no JSON: {_syntax(error)}; send one JSON value.", place="")
    except RecursionError:
        _refuse(f"The text cannot be read: {_too_deep(max_depth)}.", place="")
    return _unmarked(marked, "", max_depth)


_SURROGATE = re.compile("[\ud800-\udfff]")


def _unmarked(marked: Any, place: str, room: int) -> Any:
    if isinstance(marked, _Fault):
        _refuse(f"At {place or 'the top'}: {marked.why}.", place=place)
    if isinstance(marked, str):
        _refuse_characters(marked, place)
        return marked
    if not isinstance(marked, list):
        return marked
    if room == 0:
        _refuse(f"At {place or 'the top'} the value is nested too deep; send a flatter one.", place=place)
    if not isinstance(marked, _Pairs):
        return [_unmarked(item, f"{place}/{index}", room - 1) for index, item in enumerate(marked)]
    members: dict[str, Any] = {}
    for name, value in marked:
        _refuse_characters(name, place)
        inner = pointer(place, name)
        if name in members:
            _refuse(
                f"The member at {inner} stands twice, so it is not clear which one is meant; send it once.", place=inner
            )
        members[name] = _unmarked(value, inner, room - 1)
    return members


def _refuse_characters(text: str, place: str) -> None:
    if "\0" in text:
        raise Refusal(
            "unstorable_text",
            f"A string at {place or 'the top'} holds the NUL character, which cannot be stored; leave it out.",
            place=place,
        )
    if _SURROGATE.search(text):
        raise Refusal(
            "unstorable_text",
            f"A string at {place or 'the top'} holds half a surrogate pair; send both halves or the character.",
            place=place,
        )


def pointer(place: str, name: str | int) -> str:
    """The JSON pointer one step further in."""
    return f"{place}/{str(name).replace('~', '~0').replace('/', '~1')}"
