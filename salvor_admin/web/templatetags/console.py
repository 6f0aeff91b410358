"""Small marks that pages are made of. Each escapes what it is given."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from django import template
from django.template.context import Context
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from salvor_admin.domain import hidden_text
from salvor_admin.web import json_text, marking, times

register = template.Library()

_ICON_NAME = re.compile(r"[a-z][a-z0-9-]*")
_DIGEST = re.compile(r"(?:[a-z0-9]+:)?([0-9a-f]{16,})")


@register.simple_tag
def icon(name: str, tone: str = "") -> SafeString:
    """A drawing of the sprite; beside a word, so screen readers skip it."""
    if not _ICON_NAME.fullmatch(name):
        raise template.TemplateSyntaxError(f"{name!r} is no icon's name")
    spoken = format_html(' data-tone="{}"', tone) if tone else ""
    return format_html(
        '<svg class="icon"{} aria-hidden="true"><use href="{}#{}"/></svg>', spoken, static("icons.svg"), name
    )


@register.simple_tag
def stamp(tone: str, icon_name: str, words: object, boxed: bool = False) -> SafeString:
    """A state: icon and word, underlined by a tone."""
    kind = "stamp boxed" if boxed else "stamp"
    return format_html('<span class="{}" data-tone="{}">{} {}</span>', kind, tone, icon(icon_name), words)


@register.simple_tag
def effect(name: object) -> SafeString:
    """An effect class, in its own spelling."""
    return format_html('<span class="effect">{}</span>', name)


def _now(context: Context) -> datetime | None:
    now = context.get("now")
    return now if isinstance(now, datetime) else None


def _prefers_utc(context: Context) -> bool:
    return getattr(context.get("preferences"), "times", "relative") == "utc"


@register.simple_tag(takes_context=True)
def time(context: Context, value: datetime | None, form: str = "relative", never: str = "never") -> SafeString:
    """An instant: in relative words with the full one as title, or the other way round; None is `never`."""
    if value is None:
        return format_html('<span class="none">{}</span>', never)
    now = _now(context)
    full = times.absolute(value)
    if now is None:
        return format_html('<time datetime="{}">{}</time>', times.machine(value), full)
    near = times.relative(value, now=now)
    shown, title = (full, near) if form == "absolute" or _prefers_utc(context) else (near, full)
    return format_html('<time datetime="{}" title="{}">{}</time>', times.machine(value), title, shown)


@register.simple_tag(takes_context=True)
def age(context: Context, since: datetime | None) -> SafeString:
    """How long something has lasted: `41 min`."""
    now = _now(context)
    if since is None or now is None:
        return format_html('<span class="none">{}</span>', "unknown")
    length = now - since
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        times.machine_span(length),
        f"since {times.absolute(since)}",
        times.span(length),
    )


@register.simple_tag(takes_context=True)
def due(context: Context, at: datetime | None) -> SafeString:
    """`due in 18 min`, or how much overdue."""
    now = _now(context)
    if at is None or now is None:
        return format_html('<span class="none">{}</span>', "no due time")
    left = at - now
    late = left < timedelta(0)
    words = f"Overdue {times.span(-left)}" if late else f"due in {times.span(left)}"
    return format_html(
        '<time class="{}" datetime="{}" title="{}">{}</time>',
        "late" if late else "due",
        times.machine(at),
        times.absolute(at),
        words,
    )


@register.filter
def marked(text: object) -> SafeString:
    """Words that are not ours: escaped, hidden characters drawn."""
    return marking.marked(str(text))


@register.filter
def coded(text: object) -> SafeString:
    """A sentence of ours: escaped, hidden characters drawn, and what stands in backticks shown as code."""
    pieces = str.__str__(str(text)).split("`")
    if len(pieces) % 2 == 0:
        return marking.marked(str(text))
    parts = [
        format_html("<code>{}</code>", marking.marked(piece)) if at % 2 else marking.marked(piece)
        for at, piece in enumerate(pieces)
    ]
    return format_html_join("", "{}", ((part,) for part in parts))


@register.filter
def hidden_count(text: object) -> int:
    """How many characters `marked` draws as code points."""
    return hidden_text.count_hidden(str(text))


@register.filter
def pretty_json(text: object) -> SafeString:
    """Canonical JSON text laid out as it is spelt."""
    return json_text.laid_out(str(text))


@register.filter
def json_hidden_count(text: object) -> int:
    """How many characters `pretty_json` draws as code points."""
    return json_text.count_hidden(str(text))


@register.filter
def short_digest(digest: object) -> str:
    """The first eight digits of a digest in two groups, as people read it out: `9c41 e07b`."""
    match = _DIGEST.fullmatch(str(digest))
    return f"{match[1][:4]} {match[1][4:8]}" if match else str(digest)


@register.filter
def breakable(name: object) -> SafeString:
    """A long dotted name that may break after its dots and slashes."""
    pieces = [marking.marked(part) for part in re.split(r"(?<=[./_])(?=.)", str(name))]
    shown = pieces[0]
    for piece in pieces[1:]:
        shown = format_html("{}<wbr>{}", shown, piece)
    return shown


@register.simple_tag
def ident(value: object, label: str = "", short: bool = False) -> SafeString:
    """An id that one click selects and script lets you copy; short in rows, whole in the detail."""
    text = str(value)
    if not short:
        return format_html('<code class="ident" data-copy-label="{}">{}</code>', label, marking.marked(text))
    shown = short_digest(text)
    if shown == text and len(text) > 12:
        shown = f"{text[:8]}…"
    return format_html('<code title="{}">{}</code>', text, marking.marked(shown))


@register.simple_tag(takes_context=True)
def query(context: Context, **changes: Any) -> str:
    """The page's own query with some parameters changed; None takes one out."""
    parameters = context["request"].GET.copy()
    for name, value in changes.items():
        if value is None or value == "":
            parameters.pop(name, None)
        else:
            parameters[name] = str(value)
    return f"?{parameters.urlencode()}" if parameters else "?"
