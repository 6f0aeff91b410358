"""Finding where the members of a JSON text begin and end, without reading them."""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import NoReturn

from salvor_admin.domain.refusals import Refusal

_SPACE = re.compile(rb"[ \t\n\r]*+")
STRING = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_PLAIN = re.compile(
    rb'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
    rb"|-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+|true|false|null"
)

_OPENINGS = re.compile(rb"\[(?:[ \t\n\r]*+\[)++")
_WORDS = {
    "Expecting ',' delimiter": "a comma or a closing bracket is missing",
    "Expecting ':' delimiter": "`:` is missing",
    "Expecting property name enclosed in double quotes": "a member name is missing",
}


class _NoValue(Exception):
    """A word that is no JSON."""


def _no_value(word: str) -> NoReturn:
    raise _NoValue(word)


# The interpreter's own scanner walks fifty times as fast as we can; what the numbers are is nobody's business here.
_decoder = json.JSONDecoder(parse_float=len, parse_int=len, parse_constant=_no_value)


class Skimmer:
    """Walks over one JSON text by its grammar alone: no depth, no number ranges, no UTF-8."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.at = 0

    def next(self) -> int:
        """The next byte that is no white space; -1 at the end."""
        space = _SPACE.match(self.raw, self.at)
        self.at = space.end() if space else self.at
        return self.raw[self.at] if self.at < len(self.raw) else -1

    def take(self, wanted: bytes) -> None:
        if self.next() != wanted[0]:
            self.stop(f"`{wanted.decode()}` is missing")
        self.at += 1

    def plain(self, pattern: re.Pattern[bytes], what: str) -> bytes:
        self.next()
        found = pattern.match(self.raw, self.at)
        if found is None:
            self.stop(f"{what} is missing")
        self.at = found.end()
        return found[0]

    @cached_property
    def _text(self) -> str:
        """One character a byte, so that places agree and any byte may stand in a string."""
        return self.raw.decode("latin-1")

    def value(self) -> bytes:
        """The bytes of one whole value."""
        self.next()
        start = self.at
        try:
            _, self.at = _decoder.raw_decode(self._text, start)
        except RecursionError:
            return self._deep_value()
        except json.JSONDecodeError as error:
            self.at = error.pos
            self.stop(_WORDS.get(error.msg, "a value is missing"))
        except _NoValue:
            self.stop("a value is missing")
        return self.raw[start : self.at]

    def _deep_value(self) -> bytes:
        """The same for any depth."""
        start = self.at
        open_ones = bytearray()
        while True:
            first = self.next()
            if first in (0x5B, 0x7B):  # an opening bracket or brace; its closing one is two further on
                run = _OPENINGS.match(self.raw, self.at)
                opened = b"[" * run[0].count(b"[") if run else bytes([first])
                self.at = run.end() if run else self.at + 1
                open_ones += opened
                if self.next() == first + 2:
                    self.at += 1
                    open_ones.pop()
                else:
                    self._name_in(open_ones)
                    continue
            else:
                self.plain(_PLAIN, "a value")
            while open_ones:
                if self.next() == ord(","):
                    self.at += 1
                    self._name_in(open_ones)
                    break
                if self.next() != open_ones[-1] + 2:
                    self.stop("a comma or a closing bracket is missing")
                self.at += 1
                open_ones.pop()
            else:
                return self.raw[start : self.at]

    def _name_in(self, open_ones: bytearray) -> None:
        if open_ones[-1] == ord("{"):
            self.plain(STRING, "a member name")
            self.take(b":")

    def end(self) -> None:
        if self.next() != -1:
            self.stop("text stands after the value")

    def stop(self, why: str) -> NoReturn:
        raise Refusal("bad_request", f"The body cannot be read as JSON: {why} at byte {self.at}; send one JSON object.")
