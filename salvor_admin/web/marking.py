"""Untrusted text as HTML: escaped, and every hidden character drawn as its code point (design 6.8)."""

from __future__ import annotations

from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString

from salvor_admin.domain import hidden_text


def chip(char: str) -> SafeString:
    """One hidden character, drawn and named."""
    name, point = hidden_text.character_name(char), hidden_text.code_point(char)
    return format_html('<span class="codepoint" title="{}">⟦{}⟧</span>', name, point)


def marked(text: str) -> SafeString:
    """The text as a reader may trust it: nothing in it acts, nothing in it hides."""
    # `str` first: a text that calls itself safe is not so because it says so.
    plain = str.__str__(text)
    pieces: list[SafeString] = []
    start = 0
    for at in hidden_text.hidden_positions(plain):
        pieces += [escape(plain[start:at]), chip(plain[at])]
        start = at + 1
    pieces.append(escape(plain[start:]))
    return format_html_join("", "{}", ((piece,) for piece in pieces))
