"""Foreign words in a mail: one line, quoted, drawn, cut, and nothing to press."""

from __future__ import annotations

import pytest

from salvor_admin.delivery import plain_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("refund_card", "refund_card"),
        ("refund\u202ecard", "refund⟦U+202E⟧card"),
        ("refund\u200b", "refund⟦U+200B⟧"),
        ("a\nBcc: x@y.test", "a⟦U+000A⟧Bcc: x@y.test"),
        ("a\r\nb\tc", "a⟦U+000D⟧⟦U+000A⟧b⟦U+0009⟧c"),
        ("a\u2028b", "a⟦U+2028⟧b"),
        ("see https://evil.test/x", "see https:⟦//⟧evil.test/x"),
        ("see WWW.evil.test", "see WWW⟦.⟧evil.test"),
        ("mailto:x@y.test", "mailto⟦:⟧x@y.test"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
    ],
)
def test_a_foreign_name_stays_on_its_line_and_hides_nothing(text: str, shown: str) -> None:
    assert plain_text.on_one_line(text) == shown


def test_each_line_of_a_quote_says_that_it_is_one() -> None:
    assert plain_text.quoted(" Too wide.\n\nOpen it: https://evil.test/ \n") == (
        "> Too wide.\n> \n> Open it: https:⟦//⟧evil.test/"
    )


def test_a_quote_is_cut_by_length_and_by_lines() -> None:
    assert plain_text.quoted("x" * 1000) == "> " + "x" * 399 + "…"
    assert plain_text.quoted("y\n" * 100).splitlines() == ["> y"] * 8 + ["> …"]


def test_a_break_of_lines_that_readers_do_not_agree_on_starts_no_line() -> None:
    assert plain_text.quoted("a\x0bb\x0cc\x85d\u2028e\rf") == ("> a⟦U+000B⟧b⟦U+000C⟧c⟦U+0085⟧d⟦U+2028⟧e⟦U+000D⟧f")
