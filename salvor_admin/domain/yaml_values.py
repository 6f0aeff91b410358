"""YAML text as the JSON values agentplane reads in it: scalars by its rules, everything doubtful refused (contract 5.7)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json, depth, fits, pointer
from salvor_admin.domain.yaml_scalars import TAG, plain_scalar, reads_differently, refuse, refuse_tag, tagged_scalar
from salvor_admin.domain.yaml_scanner import PlaneScanner

MAX_BYTES = 2 * 1024 * 1024
# The YAML scanner takes about two seconds a megabyte and fifty microseconds an event; JSON text goes past it.
MAX_YAML_BYTES = 384 * 1024
MAX_EVENTS = 20_000
MAX_REPLAYED_EVENTS = 100_000
MAX_DEPTH = 64
MAX_KEY_LENGTH = 1022

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_NOT_BREAKS_HERE = "\x85\u2028\u2029"  # the scanner would break lines there; agentplane does not
_PRIVATE_USE = range(0xE000, 0xF900)


@dataclass(slots=True)
class Document:
    """One document of a stream; `odd_scalars` are the places where agentplane's two known builds read differently."""

    value: Json
    odd_scalars: list[str] = field(default_factory=list)


def read_documents(raw: bytes) -> Iterator[Document]:
    """The documents of a stream, one by one, so that what is wrong in a later one does not hide an earlier one."""
    if len(raw) > MAX_BYTES:
        refuse("yaml", f"The file has {len(raw)} bytes and may have {MAX_BYTES}; split it.")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        refuse("unreadable", f"The file is not UTF-8: byte {error.start} is not; save it as UTF-8.")
    text = text.removeprefix("\ufeff")
    forbidden = _FORBIDDEN.search(text)
    if forbidden is not None:
        line = text.count("\n", 0, forbidden.start()) + 1
        refuse(
            "yaml",
            f"Line {line} holds U+{ord(forbidden[0]):04X} as it is, which YAML forbids; escape it in double quotes.",
            line=line,
        )
    if text.lstrip(" \t\r\n").startswith("{"):
        value = _as_json(text)
        if value is not None:
            yield Document(value)
            return
    yield from _as_yaml(text, len(raw))


# --- JSON text -------------------------------------------------------------------------------------------------------


class _NotPlainJson(Exception):
    """The text has to be read as YAML to know what it means, or why it is refused."""


def _integer(text: str) -> int | float:
    number = int(text) if len(text) <= 20 else None
    return number if number is not None and fits(number) else _double(text)


def _double(text: str) -> float:
    number = float(text)
    if number - number != 0.0:
        raise _NotPlainJson
    return number


def _constant(_: str) -> NoReturn:
    raise _NotPlainJson


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs) or any(len(json.dumps(name)) > MAX_KEY_LENGTH for name in members if len(name) > 80):
        raise _NotPlainJson
    return members


_decode = json.JSONDecoder(
    parse_int=_integer, parse_float=_double, parse_constant=_constant, object_pairs_hook=_members
).decode


def _as_json(text: str) -> Json:
    """The value of a text that is JSON and means the same as YAML; None where that is not sure."""
    try:
        value = _decode(text.strip(" \t\r\n"))
        if depth(value) > MAX_DEPTH:
            return None
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError, _NotPlainJson):
        return None
    return value


# --- YAML ------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Open:
    """A collection whose end has not come yet."""

    value: Any
    place: str
    start: int
    anchor: str | None
    key: str | None = None


def _as_yaml(text: str, size: int) -> Iterator[Document]:
    if size > MAX_YAML_BYTES:
        refuse(
            "yaml",
            f"The file has {size} bytes; YAML is read up to {MAX_YAML_BYTES} and JSON text up to {MAX_BYTES}. "
            "Write the manifest as JSON, or split it.",
        )
    swapped = _swapped(text)
    reader = YAML(typ="safe", pure=True)
    reader.Scanner = PlaneScanner
    composer = _Composer({private: plain for plain, private in swapped.items()})
    try:
        for event in reader.parse(text.translate({ord(plain): private for plain, private in swapped.items()})):
            document = composer.take(event)
            if document is not None:
                yield document
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or str(error).split("\n", 1)[0]
        line = None if mark is None else mark.line + 1
        refuse("yaml", f"The text is no YAML{'' if line is None else f' (line {line})'}: {why}.", line=line)
    except (ValueError, OverflowError) as error:
        refuse("yaml", f"The text is no YAML: {error}.")
    except (RecursionError, AssertionError, IndexError, AttributeError, TypeError):
        refuse("yaml", "The text is no YAML: the reader lost its way in it.")


def _swapped(text: str) -> dict[str, str]:
    """Stand-ins for the characters the scanner would take for line breaks."""
    wanted = [sign for sign in _NOT_BREAKS_HERE if sign in text]
    if not wanted:
        return {}
    free = (chr(point) for point in _PRIVATE_USE if chr(point) not in text)
    return {sign: next(free) for sign in wanted}


class _Composer:
    """Builds values from parser events, counting what an attacker would multiply."""

    def __init__(self, stand_ins: dict[str, str]) -> None:
        self._stand_ins = {ord(private): plain for private, plain in stand_ins.items()}
        self._events = 0
        self._replayed = 0
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        self._document = Document(None)

    def take(self, event: Any) -> Document | None:
        self._events += 1
        line = event.start_mark.line + 1 if event.start_mark is not None else None
        if self._events > MAX_EVENTS:
            refuse(
                "yaml",
                f"The file holds more than {MAX_EVENTS} YAML nodes; write the manifest as JSON text, or split it.",
                line=line,
            )
        kind = type(event).__name__
        if kind == "DocumentStartEvent":
            self._anchors = {}
            self._document = Document(None)
        elif kind == "DocumentEndEvent":
            return self._document
        elif kind == "AliasEvent":
            self._alias(event, line)
        elif kind == "ScalarEvent":
            self._scalar(event, line)
        elif kind in ("SequenceStartEvent", "MappingStartEvent"):
            self._begin(event, kind == "MappingStartEvent", line)
        elif kind in ("SequenceEndEvent", "MappingEndEvent"):
            self._end()
        return None

    def _place(self) -> str:
        if not self._open:
            return ""
        top = self._open[-1]
        return pointer(top.place, len(top.value) if top.key is None else top.key)

    def _wants_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].value, dict) and self._open[-1].key is None

    def _put(self, value: Any) -> None:
        if not self._open:
            self._document.value = value
            return
        top = self._open[-1]
        if top.key is None:
            top.value.append(value)
        else:
            top.value[top.key] = value
            top.key = None

    def _begin(self, event: Any, mapping: bool, line: int | None) -> None:
        if self._wants_key():
            refuse("yaml", f"A collection stands as a key (line {line}); keys are texts.", line=line)
        if len(self._open) >= MAX_DEPTH:
            refuse("yaml", f"More than {MAX_DEPTH} collections stand inside each other (line {line}).", line=line)
        if event.tag not in (None, "!", f"{TAG}{'map' if mapping else 'seq'}"):
            refuse_tag(event.tag, line)
        self._open.append(_Open({} if mapping else [], self._place(), self._events, event.anchor))

    def _end(self) -> None:
        closed = self._open.pop()
        if closed.anchor is not None:
            inside = depth(closed.value)
            # Replays before the collection are counted too, which only errs on the strict side.
            self._anchors[closed.anchor] = (closed.value, self._events - closed.start + 1 + self._replayed, inside)
        self._put(closed.value)

    def _alias(self, event: Any, line: int | None) -> None:
        if self._wants_key():
            refuse("yaml", f"An alias stands as a key (line {line}); write the key out.", line=line)
        if event.anchor not in self._anchors:
            refuse("yaml", f"The alias *{event.anchor[:80]} has no anchor before it (line {line}).", line=line)
        value, size, inside = self._anchors[event.anchor]
        self._replayed += size
        if self._replayed > MAX_REPLAYED_EVENTS:
            refuse(
                "yaml", f"Aliases repeat more than {MAX_REPLAYED_EVENTS} nodes (line {line}); write less.", line=line
            )
        if len(self._open) + inside > MAX_DEPTH:
            refuse("yaml", f"More than {MAX_DEPTH} collections stand inside each other (line {line}).", line=line)
        self._put(value)

    def _scalar(self, event: Any, line: int | None) -> None:
        text = self._text(event.value, line)
        plain = event.style is None
        if plain and (text.endswith(":") or "\ufeff" in text):
            what = "ends with a colon" if text.endswith(":") else "holds a byte order mark"
            refuse("yaml", f"A plain text {what} (line {line}); put it in quotes.", line=line)
        if self._wants_key():
            self._key(event, text, plain, line)
            return
        tag = event.tag
        if tag is None:
            value = plain_scalar(text, line) if plain else text
            if plain and reads_differently(text):
                self._document.odd_scalars.append(self._place())
        else:
            value = tagged_scalar(tag, text, line)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1, 0)
        self._put(value)

    def _key(self, event: Any, text: str, plain: bool, line: int | None) -> None:
        written = event.end_mark.index - event.start_mark.index - (0 if plain else 2)
        if written > MAX_KEY_LENGTH:
            refuse("yaml", f"A key has {written} characters (line {line}) and may have {MAX_KEY_LENGTH}.", line=line)
        if event.tag not in (None, "!", f"{TAG}str"):
            refuse_tag(event.tag, line)
        if plain and event.tag is None:
            if text == "<<":
                refuse("yaml", f"A merge key stands on line {line}; write the members out.", line=line)
            if text == "" or text == "~" or text.lower() == "null":
                refuse("yaml", f"A key is null (line {line}); quote it if the word is meant.", line=line)
        top = self._open[-1]
        if text in top.value:
            place = pointer(top.place, text)
            raise Refusal(
                "manifest_structure",
                f"The member `{text}` stands twice (line {line}); keep one of them.",
                place=place,
            )
        if event.anchor is not None:
            self._anchors[event.anchor] = (text, 1, 0)
        top.key = text

    def _text(self, text: str, line: int | None) -> str:
        if self._stand_ins:
            text = text.translate(self._stand_ins)
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            refuse("yaml", f"A text holds half a surrogate pair (line {line}).", line=line)
