from __future__ import annotations

import re
from html import unescape

import pytest

from salvor_admin.web.json_text import count_hidden, laid_out


def words(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", html))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{}", "{}"),
        ("[]", "[]"),
        ('{"a":{},"b":[]}', '{\n  "a": {},\n  "b": []\n}'),
        ('{"n":[1,1.0,1e2,-0,9007199254740993,1E+400]}',
         '{\n  "n": [\n    1,\n    1.0,\n    1e2,\n    -0,\n    9007199254740993,\n    1E+400\n  ]\n}'),
        ('{"a":1,"a":2}', '{\n  "a": 1,\n  "a": 2\n}'),
        ('"x"', '"x"'),
        ("null", "null"),
        (r'{"out":"a\\u0000b"}', '{\n  "out": "a\\\\u0000b"\n}'),
        (r'"line\nbreak \"q\" \u00e9"', r'"line\nbreak \"q\" \u00e9"'),
        ("not json at all", "not json at all"),
        ('{"open": "', '{"open": "'),
        ("{} <b>", "{} <b>"),
    ],
)  # fmt: skip
def test_json_is_laid_out_as_it_was_spelt(text: str, shown: str) -> None:
    assert words(laid_out(text)) == shown


@pytest.mark.parametrize(
    ("text", "chips"),
    [
        ('{"a":"x\u200by"}', ["⟦U+200B⟧"]),
        (r'{"a":"x\u200by"}', ["⟦U+200B⟧"]),
        (r'{"a\u0000":1}', ["⟦U+0000⟧"]),
        (r'"\udb40\udc41"', ["⟦U+E0041⟧"]),
        (r'"\ud83d"', ["⟦U+D83D⟧"]),
        (r'"\ud83d\u0041"', ["⟦U+D83D⟧"]),
        (r'"\ud83d\ude00"', []),
        (r'"\\u200b"', []),
        ("\u200b{}", ["⟦U+200B⟧"]),
    ],
)
def test_hidden_characters_show_whether_raw_or_escaped(text: str, chips: list[str]) -> None:
    html = laid_out(text)
    assert re.findall("⟦[^⟧]+⟧", html) == chips
    assert count_hidden(text) == len(chips)


def test_nothing_in_a_document_acts_as_markup() -> None:
    html = laid_out('{"<img src=x onerror=a()>":"<button hx-post=\\"/grants/9/approve\\" hx-trigger=load>"}')
    assert re.sub(r'</?span(?: class="[a-z]+")?>', "", html).count("<") == 0


def test_names_values_and_numbers_are_told_apart() -> None:
    assert laid_out('{"a":["b",1,true]}') == (
        '{\n  <span class="k">&quot;a&quot;</span>: [\n    <span class="s">&quot;b&quot;</span>,\n'
        '    <span class="n">1</span>,\n    true\n  ]\n}'
    )


def test_deep_nesting_stays_readable_and_small() -> None:
    html = laid_out("[" * 20_000 + "]" * 20_000)
    assert len(html) < 40_000 * 90
