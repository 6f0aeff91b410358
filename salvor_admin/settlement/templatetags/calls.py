"""Small marks that pages of calls are made of. Each escapes what it is given."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from django import template
from django.template.context import Context
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from salvor_admin.domain import strict_json
from salvor_admin.domain.refusals import Refusal
from salvor_admin.settlement import presenting
from salvor_admin.settlement.presenting import RowNote
from salvor_admin.settlement.selectors import CallRow
from salvor_admin.web import times
from salvor_admin.web.marking import marked
from salvor_admin.web.templatetags import console

register = template.Library()


@register.filter
def raw_value(text: object) -> str:
    """A canonical text as people read it in a line: a string without its quotes, all else as it is spelt."""
    shown = str(text)
    if shown.startswith('"'):
        try:
            value = strict_json.read(shown.encode())
        except Refusal:
            return shown
        return str(value)
    return shown


@register.filter
def get(faults: Mapping[str, str], name: str) -> str:
    """What is wrong with a field whose name a template cannot spell."""
    return faults.get(name, "")


@register.filter
def slice_run(run_id: object) -> str:
    """The first eight digits of a run's id."""
    return str(run_id)[:8]


@register.simple_tag
def subject(row: CallRow) -> SafeString:
    """The pinned and identity fields of a call by name and raw value."""
    pairs = ((marked(field.name), marked(raw_value(field.text))) for field in row.subject)
    return format_html_join(" ", '<span class="subject-field"><small>{}</small> {}</span>', pairs)


@register.simple_tag
def call_stamp(row: CallRow) -> SafeString:
    """The state of a call."""
    stamp = presenting.stamp(row)
    return console.stamp(stamp.tone, stamp.icon, stamp.words)


@register.simple_tag(takes_context=True)
def row_note(context: Context, row: CallRow) -> RowNote:
    """What may change beside a row."""
    return presenting.row_note(row, now=context["now"])


@register.filter
def spaced(name: object) -> str:
    """A state's name in words."""
    return str(name).replace("_", " ")


@register.simple_tag(takes_context=True)
def clock(context: Context, value: datetime | None) -> SafeString:
    """A moment in a column of moments: the time, and the day when it is another one; the whole of it as title."""
    if value is None:
        return format_html('<span class="none">{}</span>', "never")
    at, now = value.astimezone(UTC), context["now"].astimezone(UTC)
    shown = f"{at:%H:%M:%S}" if at.date() == now.date() else f"{at.day} {at:%b %Y, %H:%M}"
    return format_html('<time datetime="{}" title="{}">{}</time>', times.machine(at), times.absolute(at), shown)


@register.simple_tag
def spelt(text: object) -> SafeString:
    """A canonical text in a cell, or that there is none."""
    if text is None:
        return format_html('<span class="none">{}</span>', "not there")
    shown = str(text)
    return format_html("<code>{}</code>", marked(shown if len(shown) <= 200 else f"{shown[:200]}…"))
