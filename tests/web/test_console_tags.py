from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.template import Context, TemplateSyntaxError, engines
from django.test import RequestFactory

from salvor_admin.web.preferences import Preferences

NOW = datetime(2026, 3, 12, 14, 33, 10, tzinfo=UTC)
DIGEST = "sha256:9c41e07b52d87a3310e6c0ffb9e51a04d2736f88c5a9140be76d1f2293ac7e07"
EVIL = '"><script>\u200b'
ESCAPED = '&quot;&gt;&lt;script&gt;<span class="codepoint" title="zero width space">⟦U+200B⟧</span>'


def drawn(source: str, **context: Any) -> str:
    template = engines["django"].from_string(source)
    return str(template.template.render(Context({"now": NOW, "preferences": Preferences(), **context})))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("source", "value", "html"),
    [
        (
            "{% time value %}",
            NOW - timedelta(hours=5),
            '<time datetime="2026-03-12T09:33:10Z" title="12 March 2026, 09:33:10 UTC">5 h ago</time>',
        ),
        (
            '{% time value "absolute" %}',
            NOW - timedelta(hours=5),
            '<time datetime="2026-03-12T09:33:10Z" title="5 h ago">12 March 2026, 09:33:10 UTC</time>',
        ),
        ("{% time value %}", None, '<span class="none">never</span>'),
        ('{% time value never="not yet" %}', None, '<span class="none">not yet</span>'),
        (
            "{% age value %}",
            NOW - timedelta(minutes=41),
            '<time datetime="PT2460S" title="since 12 March 2026, 13:52:10 UTC">41 min</time>',
        ),
        (
            "{% due value %}",
            NOW + timedelta(minutes=18),
            '<time class="due" datetime="2026-03-12T14:51:10Z" title="12 March 2026, 14:51:10 UTC">due in 18 min</time>',
        ),
        (
            "{% due value %}",
            NOW - timedelta(minutes=11),
            '<time class="late" datetime="2026-03-12T14:22:10Z" title="12 March 2026, 14:22:10 UTC">Overdue 11 min</time>',
        ),
        ("{{ value|short_digest }}", DIGEST, "9c41 e07b"),
        ("{{ value|short_digest }}", "9c41e07b52d87a33", "9c41 e07b"),
        ("{{ value|short_digest }}", "no digest", "no digest"),
        ("{{ value|short_digest }}", EVIL, "&quot;&gt;&lt;script&gt;\u200b"),
        ("{{ value|marked }}", EVIL, ESCAPED),
        ("{{ value|hidden_count }}", EVIL, "1"),
        ("{{ value|json_hidden_count }}", '{"a":"\\u200b"}', "1"),
        ("{{ value|breakable }}", "tool://payments/refund.create", "tool:/<wbr>/<wbr>payments/<wbr>refund.<wbr>create"),
        ('{% ident value "run id" %}', "r-7", '<code class="ident" data-copy-label="run id">r-7</code>'),
        ("{% ident value %}", EVIL, f'<code class="ident" data-copy-label="">{ESCAPED}</code>'),
        ("{% ident value short=True %}", DIGEST, f'<code title="{DIGEST}">9c41 e07b</code>'),
        (
            "{% ident value short=True %}",
            "5691f3d0-d4aa-45b9-9875-2127c31e039e",
            '<code title="5691f3d0-d4aa-45b9-9875-2127c31e039e">5691f3d0…</code>',
        ),
        (
            '{% icon "check" %}',
            None,
            '<svg class="icon" aria-hidden="true"><use href="/static/icons.svg#check"/></svg>',
        ),
        (
            '{% stamp "ok" "check" value %}',
            "<b>",
            '<span class="stamp" data-tone="ok"><svg class="icon" aria-hidden="true">'
            '<use href="/static/icons.svg#check"/></svg> &lt;b&gt;</span>',
        ),
    ],
)
def test_each_mark_draws_its_words(source: str, value: object, html: str) -> None:
    assert drawn(source, value=value) == html


def test_times_are_absolute_for_whoever_chose_so() -> None:
    shown = drawn("{% time value %}", value=NOW, preferences=Preferences(times="utc"))
    assert shown == '<time datetime="2026-03-12T14:33:10Z" title="just now">12 March 2026, 14:33:10 UTC</time>'


def test_without_a_clock_an_instant_is_told_in_full() -> None:
    assert ">12 March 2026, 14:33:10 UTC<" in drawn("{% time value %}", value=NOW, now=None)


def test_an_icon_is_named_never_built() -> None:
    with pytest.raises(TemplateSyntaxError):
        drawn("{% icon value %}", value="x/../y#z")


def test_a_query_changes_one_parameter_and_keeps_the_rest() -> None:
    request = RequestFactory().get("/", {"tool": "a&b", "cursor": "x"})
    assert drawn("{% query cursor=None %}", request=request) == "?tool=a%26b"
    assert drawn("{% query cursor=value %}", request=request, value="é") == "?tool=a%26b&amp;cursor=%C3%A9"
    assert drawn("{% query tool=None cursor=None %}", request=request) == "?"


@pytest.mark.parametrize(
    ("source", "context", "words"),
    [
        ('{% include "_quoted.html" with json=None writer=text %}', {"text": EVIL},
         ["1 hidden character", "<b>" + ESCAPED]),
        ('{% include "_quoted.html" with json=json writer="w" %}', {"json": '{"a":"\u200b\u200b"}'}, ["2 hidden characters"]),
        ('{% include "_facts.html" %}', {"facts": [{"name": "Key", "value": "<k>", "note": "why"}]},
         ["<dt>Key</dt><dd>&lt;k&gt; <small>why</small></dd>"]),
        ('{% include "_stamp.html" %}', {"stamp": {"tone": "ok", "icon": "check", "words": "Whole"}}, [" Whole</span>"]),
        ('{% include "_empty.html" %}', {"icon_name": "check", "heading": "None", "words": "w"}, ["<h2>None</h2>"]),
        ('{% include "_time.html" %}', {"value": None, "never": "not yet"}, ["not yet"]),
        ('{% include "_ident.html" %}', {"value": "r-7", "label": "run id"}, ["r-7"]),
        ('{% include "_json.html" %}', {"json": "[1.0]"}, ['<span class="n">1.0</span>']),
    ],
)  # fmt: skip
def test_each_part_shows_what_it_is_given(source: str, context: dict[str, Any], words: list[str]) -> None:
    shown = drawn(source, **context)
    assert [each for each in words if each not in shown] == []


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain & simple", "plain &amp; simple"),
        ("`name` is missing", "<code>name</code> is missing"),
        (
            "At `a<b>` and `c\u200b`.",
            'At <code>a&lt;b&gt;</code> and <code>c<span class="codepoint" title="zero width space">⟦U+200B⟧</span></code>.',
        ),
        ("one ` alone", "one ` alone"),
    ],
)
def test_what_stands_in_backticks_is_code_and_nothing_in_it_acts(text: str, html: str) -> None:
    assert drawn("{{ text|coded }}", text=text) == html
