from __future__ import annotations

import pytest
from django.utils.safestring import SafeString

from salvor_admin.domain import hidden_text
from salvor_admin.web.marking import marked


def chip(name: str, point: str) -> str:
    return f'<span class="codepoint" title="{name}">⟦{point}⟧</span>'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain words", "plain words"),
        ("Zürich, 東京, שלום", "Zürich, 東京, שלום"),
        ("a\tb\nc", "a\tb\nc"),
        ("<b>&\"'", "&lt;b&gt;&amp;&quot;&#x27;"),
        ("a\u200bb", f"a{chip('zero width space', 'U+200B')}b"),
        ("\u202eevil", f"{chip('right-to-left override', 'U+202E')}evil"),
        ("\U000e0041", chip("tag latin capital letter a", "U+E0041")),
        ("\x1b[31m", f"{chip('escape', 'U+001B')}[31m"),
        ("a\x00b", f"a{chip('null', 'U+0000')}b"),
        ("a\r\nb", f"a{chip('carriage return', 'U+000D')}\nb"),
        ("\ufeff", chip("zero width no-break space", "U+FEFF")),
        ("\u2060", chip("word joiner", "U+2060")),
        ("1\u00a0000", f"1{chip('no-break space', 'U+00A0')}000"),
        ("\u3164", chip("hangul filler", "U+3164")),
        ("\ue000", chip("private use character", "U+E000")),
        ("\ud83d", chip("half of a surrogate pair", "U+D83D")),
        ("\u0378", chip("unassigned character", "U+0378")),
        ("\u2028", chip("line separator", "U+2028")),
    ],
)
def test_hidden_characters_become_chips_and_everything_else_is_escaped_text(text: str, html: str) -> None:
    assert marked(text) == html


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", 0),
        ("🏴\U000e0068\U000e0069\U000e007f", 3),
        ("👩\u200d💻", 0),
        ("❤\ufe0f\u200d🔥", 0),
        ("1\ufe0f\u20e3", 0),
        ("pay\u200dee", 1),
        ("a\ufe0f", 1),
        ("😀\U000e0101\U000e0102", 2),
        ("1\ufe0f", 1),
    ],
    ids=[
        "registered flag", "text behind a flag", "joined", "heart on fire", "keycap",
        "joiner in a word", "selector on a letter", "selectors that carry bytes", "selector on a digit",
    ],
)  # fmt: skip
def test_only_what_shapes_a_visible_emoji_stays_unmarked(text: str, hidden: int) -> None:
    assert hidden_text.count_hidden(text) == hidden


def test_text_that_claims_to_be_safe_is_escaped_all_the_same() -> None:
    assert marked(SafeString("<script>x\u200b</script>")) == (
        f"&lt;script&gt;x{chip('zero width space', 'U+200B')}&lt;/script&gt;"
    )


def test_many_flags_and_tags_are_read_in_one_pass() -> None:
    text = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f\u200b" * 5000
    assert hidden_text.count_hidden(text) == 5000
