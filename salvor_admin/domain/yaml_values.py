"""YAML text as the JSON values agentplane reads in it: scalars by its rules, everything doubtful refused (contract 5.7)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scanner import Scanner, ScannerError

from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json, depth, fits, pointer

MAX_BYTES = 2 * 1024 * 1024
# The YAML scanner takes about two seconds a megabyte and fifty microseconds an event; JSON text goes past it.
MAX_YAML_BYTES = 384 * 1024
MAX_EVENTS = 20_000
MAX_REPLAYED_EVENTS = 100_000
MAX_DEPTH = 64
MAX_KEY_LENGTH = 1022
MAX_TAG_LENGTH = 1000

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_NOT_BREAKS_HERE = "\x85\u2028\u2029"  # the scanner would break lines there; agentplane does not
_PRIVATE_USE = range(0xE000, 0xF900)

_TAG = "tag:yaml.org,2002:"
_LINE_BREAK = re.compile("\r\n|\r|\n")
_TAG_END = re.compile("[ \t\r\n\0]")


@dataclass(slots=True)
class Document:
    """One document of a stream; `odd_scalars` are the places where agentplane's two known builds read differently."""

    value: Json
    odd_scalars: list[str] = field(default_factory=list)


def read_documents(raw: bytes) -> Iterator[Document]:
    """The documents of a stream, one by one, so that what is wrong in a later one does not hide an earlier one."""
    if len(raw) > MAX_BYTES:
        _refuse("yaml", f"The file has {len(raw)} bytes and may have {MAX_BYTES}; split it.")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        _refuse("unreadable", f"The file is not UTF-8: byte {error.start} is not; save it as UTF-8.")
    text = text.removeprefix("\ufeff")
    forbidden = _FORBIDDEN.search(text)
    if forbidden is not None:
        line = text.count("\n", 0, forbidden.start()) + 1
        _refuse(
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


def _refuse(rule: str, message: str, *, line: int | None = None) -> NoReturn:
    place = None if line is None else f"line {line}"
    code = f"manifest_{rule}"
    raise Refusal(code, message, place=place)


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


class _Scanner(Scanner):
    """The stock scanner where agentplane's reader agrees: `?x` in a flow collection is a text, `-]` is nothing, a tab may
    part a colon from its value, and a quoted text goes on further in than what holds it.
    """

    def scan_to_next_token(self) -> None:
        super().scan_to_next_token()
        while self.reader.peek() == "\t" and self._tab_only_parts():
            while self.reader.peek() in " \t":
                self.reader.forward()
            super().scan_to_next_token()

    def _tab_only_parts(self) -> bool:
        if self.flow_level:
            return True
        here = self.reader.pointer
        before = self.reader.buffer[here - self.reader.column : here].rstrip(" \t")
        return before != "" and before[-1] not in "-?"

    def scan_flow_scalar(self, style: Any) -> Any:
        token = super().scan_flow_scalar(style)
        if token.end_mark.line > token.start_mark.line:
            lines = _LINE_BREAK.split(self.reader.buffer[token.start_mark.index : token.end_mark.index])
            for before, line in pairwise(lines):
                joined = style == '"' and (len(before) - len(before.rstrip("\\"))) % 2 == 1
                held = line.lstrip(" ")
                free = joined or bool(self.flow_level) or held == "" or held.startswith(style)
                if len(line) - len(held) <= self.indent and (held.startswith("\t") or not free):
                    why = "a line of a quoted text begins no further in than what holds it"
                    raise ScannerError("while scanning a quoted scalar", None, why, token.start_mark)
        return token

    def scan_tag(self) -> Any:
        # The stock scanner reads and decodes a tag however long it is, and goes over it several times.
        ahead = self.reader.prefix(MAX_TAG_LENGTH)
        if len(ahead) == MAX_TAG_LENGTH and _TAG_END.search(ahead) is None:
            why = f"a tag has more than {MAX_TAG_LENGTH} characters"
            raise ScannerError("while scanning a tag", None, why, self.reader.get_mark())
        return super().scan_tag()

    def check_key(self) -> bool:
        return self.reader.peek(1) in " \t\r\n\0"

    def check_plain(self) -> bool:
        if self.flow_level and self.reader.peek() in "?-":
            return self.reader.peek(1) not in " \t\r\n\0,[]{}"
        return bool(super().check_plain())


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
        _refuse(
            "yaml",
            f"The file has {size} bytes; YAML is read up to {MAX_YAML_BYTES} and JSON text up to {MAX_BYTES}. "
            "Write the manifest as JSON, or split it.",
        )
    swapped = _swapped(text)
    reader = YAML(typ="safe", pure=True)
    reader.Scanner = _Scanner
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
        _refuse("yaml", f"The text is no YAML{'' if line is None else f' (line {line})'}: {why}.", line=line)
    except (ValueError, OverflowError) as error:
        _refuse("yaml", f"The text is no YAML: {error}.")
    except (RecursionError, AssertionError, IndexError, AttributeError, TypeError):
        _refuse("yaml", "The text is no YAML: the reader lost its way in it.")


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
            _refuse(
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
            _refuse("yaml", f"A collection stands as a key (line {line}); keys are texts.", line=line)
        if len(self._open) >= MAX_DEPTH:
            _refuse("yaml", f"More than {MAX_DEPTH} collections stand inside each other (line {line}).", line=line)
        if event.tag not in (None, "!", f"{_TAG}{'map' if mapping else 'seq'}"):
            _refuse_tag(event.tag, line)
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
            _refuse("yaml", f"An alias stands as a key (line {line}); write the key out.", line=line)
        if event.anchor not in self._anchors:
            _refuse("yaml", f"The alias *{event.anchor[:80]} has no anchor before it (line {line}).", line=line)
        value, size, inside = self._anchors[event.anchor]
        self._replayed += size
        if self._replayed > MAX_REPLAYED_EVENTS:
            _refuse(
                "yaml", f"Aliases repeat more than {MAX_REPLAYED_EVENTS} nodes (line {line}); write less.", line=line
            )
        if len(self._open) + inside > MAX_DEPTH:
            _refuse("yaml", f"More than {MAX_DEPTH} collections stand inside each other (line {line}).", line=line)
        self._put(value)

    def _scalar(self, event: Any, line: int | None) -> None:
        text = self._text(event.value, line)
        plain = event.style is None
        if plain and (text.endswith(":") or "\ufeff" in text):
            what = "ends with a colon" if text.endswith(":") else "holds a byte order mark"
            _refuse("yaml", f"A plain text {what} (line {line}); put it in quotes.", line=line)
        if self._wants_key():
            self._key(event, text, plain, line)
            return
        tag = event.tag
        if tag is None:
            value = plain_scalar(text, line) if plain else text
            if plain and reads_differently(text):
                self._document.odd_scalars.append(self._place())
        else:
            value = _tagged_scalar(tag, text, line)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1, 0)
        self._put(value)

    def _key(self, event: Any, text: str, plain: bool, line: int | None) -> None:
        written = event.end_mark.index - event.start_mark.index - (0 if plain else 2)
        if written > MAX_KEY_LENGTH:
            _refuse("yaml", f"A key has {written} characters (line {line}) and may have {MAX_KEY_LENGTH}.", line=line)
        if event.tag not in (None, "!", f"{_TAG}str"):
            _refuse_tag(event.tag, line)
        if plain and event.tag is None:
            if text == "<<":
                _refuse("yaml", f"A merge key stands on line {line}; write the members out.", line=line)
            if text == "" or text == "~" or text.lower() == "null":
                _refuse("yaml", f"A key is null (line {line}); quote it if the word is meant.", line=line)
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
            _refuse("yaml", f"A text holds half a surrogate pair (line {line}).", line=line)


def _refuse_tag(tag: str, line: int | None) -> NoReturn:
    _refuse("yaml", f"The tag {tag[:80]} is not read here (line {line}); leave it out.", line=line)


# --- scalars ---------------------------------------------------------------------------------------------------------

_DECIMAL = re.compile(r"[+-]?(?:0|[1-9][0-9]*(?:_[0-9]+)*)")
_BASED = re.compile(r"([+-]?)0([xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_FRACTION = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BEYOND = re.compile(r"[+-]?\.(?:inf|nan)", re.IGNORECASE)
# Groups of digits in these spellings were never tried on the real reader.
_UNTRIED = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+(?:_[0-9a-fA-F]+)+|0[oO][0-7]+(?:_[0-7]+)+|0[bB][01]+(?:_[01]+)+"
    r"|0[0-9]*(?:_[0-9]+)+|[0-9]+(?:_[0-9]+)+(?:\.[0-9_]*(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)"
    r"|[0-9]*\.[0-9]+(?:_[0-9]+)+(?:[eE][+-]?[0-9]+)?)"
)
_BASES = {"x": 16, "o": 8, "b": 2}
_USUAL_CASE = frozenset({"true", "True", "TRUE", "false", "False", "FALSE", "null", "Null", "NULL"})


def plain_scalar(text: str, line: int | None = None) -> Json:
    """What a plain scalar without a tag means."""
    if text == "" or text == "~":
        return None
    if text[0] not in "tTfFnN+-.0123456789":
        return text
    word = text.lower()
    if word in ("true", "false"):
        return word == "true"
    if word == "null":
        return None
    number = _number(text, line)
    return text if number is None else number


def reads_differently(text: str) -> bool:
    """Whether the newest compatible YAML reader takes this plain scalar for a text, other than the pinned one does."""
    if text.lower() in ("true", "false", "null"):
        return text not in _USUAL_CASE
    return bool(_BASED.fullmatch(text)) and any(sign in text for sign in "XOB")


def _number(text: str, line: int | None) -> int | float | None:
    if _DECIMAL.fullmatch(text):
        text = text.replace("_", "")
        if len(text) <= 21 and fits(number := int(text)):
            return number
    based = _BASED.fullmatch(text)
    if based is not None:
        if len(text) > 80:
            _refuse("yaml", f"A number has {len(text)} characters (line {line}); write it in decimal.", line=line)
        number = int(based[2][1:], _BASES[based[2][0].lower()])
        number = -number if based[1] == "-" else number
        if not fits(number):
            _refuse("yaml", f"The number {text} does not fit into 64 bits (line {line}).", line=line)
        return number
    if _BEYOND.fullmatch(text):
        _refuse("yaml", f"{text} is no JSON number (line {line}); leave it out, or quote it.", line=line)
    if _UNTRIED.fullmatch(text):
        _refuse("yaml", f"{text} is read differently by different readers (line {line}); write it plainly.", line=line)
    if _FRACTION.fullmatch(text):
        number_read = float(text)
        if number_read - number_read != 0.0:
            _refuse("yaml", f"The number {text[:40]} is outside the range of a double (line {line}).", line=line)
        return number_read
    return None


def _tagged_scalar(tag: str, text: str, line: int | None) -> Json:
    if tag in ("!", f"{_TAG}str", f"{_TAG}binary"):
        return text
    if tag == f"{_TAG}null" and (text in ("", "~") or text.lower() == "null"):
        return None
    if tag == f"{_TAG}bool" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if tag in (f"{_TAG}int", f"{_TAG}float"):
        number = _number(text, line)
        if number is not None and tag == f"{_TAG}float":
            return float(number)
        if isinstance(number, int):
            return number
    if tag.removeprefix(_TAG) in ("null", "bool", "int", "float"):
        _refuse("yaml", f"{text[:40]!a} is no {tag.removeprefix(_TAG)} (line {line}).", line=line)
    _refuse_tag(tag, line)
