"""JSON text laid out for reading, as it was spelt: no number is read, no member moved or merged."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString

from salvor_admin.domain import hidden_text
from salvor_admin.web.marking import chip, marked

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+)
  | (?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
  | (?P<number>-?[0-9][0-9.eE+-]*)
  | (?P<word>true|false|null)
  | (?P<mark>[{}\[\],:])
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})(?:\\u([0-9a-fA-F]{4}))?|.)")
_DEEPEST_INDENT = 40  # beyond it lines stay at this margin, so that nesting cannot blow up the page


class _NotJson(Exception):
    pass


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _NotJson
        if match.lastgroup != "space":
            yield str(match.lastgroup), match.group()
        at = match.end()


def _escaped_characters(first: str, second: str | None) -> str:
    high, low = int(first, 16), int(second, 16) if second else 0
    if 0xD800 <= high <= 0xDBFF and 0xDC00 <= low <= 0xDFFF:
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    return chr(high) + (chr(low) if second else "")


def _string(token: str) -> SafeString:
    """A string token: written as it stands, but for hidden characters, spelt raw or as `\\u` escapes alike."""
    pieces: list[SafeString] = []
    start = 0
    for match in _ESCAPE.finditer(token):
        if match.group(1) is None:
            continue
        characters = _escaped_characters(match.group(1), match.group(2))
        hidden = set(hidden_text.hidden_positions(characters))
        if not hidden:
            continue
        pieces.append(marked(token[start : match.start()]))
        pieces += [chip(char) if at in hidden else escape(char) for at, char in enumerate(characters)]
        start = match.end()
    pieces.append(marked(token[start:]))
    return format_html_join("", "{}", ((piece,) for piece in pieces))


def _line_break(depth: int) -> SafeString:
    return escape("\n" + "  " * min(depth, _DEEPEST_INDENT))


def _laid_out(text: str) -> Iterator[SafeString]:
    tokens = list(_tokens(text))
    depth = 0
    for at, (kind, word) in enumerate(tokens):
        before = tokens[at - 1][1] if at else ""
        after = tokens[at + 1][1] if at + 1 < len(tokens) else ""
        if word in {"}", "]"}:
            depth = max(depth - 1, 0)
            if before not in {"{", "["}:
                yield _line_break(depth)
            yield escape(word)
        elif word in {"{", "["}:
            yield escape(word)
            depth += 1
            if after not in {"}", "]"}:
                yield _line_break(depth)
        elif word == ",":
            yield escape(word)
            yield _line_break(depth)
        elif word == ":":
            yield escape(": ")
        elif kind == "string":
            yield format_html('<span class="{}">{}</span>', "k" if after == ":" else "s", _string(word))
        elif kind == "number":
            yield format_html('<span class="n">{}</span>', word)
        else:
            yield escape(word)


def laid_out(text: str) -> SafeString:
    """JSON text indented and coloured, spelt as it came; text that is no JSON is shown as it is."""
    try:
        pieces = list(_laid_out(text))
    except _NotJson:
        return marked(text)
    return format_html_join("", "{}", ((piece,) for piece in pieces))


def count_hidden(text: str) -> int:
    """How many characters `laid_out` draws as code points."""
    return laid_out(text).count('class="codepoint"')
