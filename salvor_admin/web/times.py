"""Instants and spans in words: one unit, zone always said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def machine(value: datetime) -> str:
    """RFC 3339 in UTC, to the second."""
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def absolute(value: datetime) -> str:
    """`12 March 2026, 14:33:10 UTC`."""
    at = value.astimezone(UTC)
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}, {at:%H:%M:%S} UTC"


def span(length: timedelta) -> str:
    """`41 min`: whole units, the largest that fits; under a minute is said so."""
    seconds = max(int(length.total_seconds()), 0)
    if seconds < _MINUTE:
        return "under 1 min"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min"
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR} h"
    return f"{seconds // _DAY} days"


def machine_span(length: timedelta) -> str:
    """An ISO 8601 duration in whole seconds, for `datetime=`."""
    return f"PT{max(int(length.total_seconds()), 0)}S"


def relative(value: datetime, *, now: datetime) -> str:
    """`5 h ago`, `in 18 min`; past a month the day itself."""
    ahead = value > now
    distance = abs(now - value)
    if distance >= timedelta(days=30):
        at = value.astimezone(UTC)
        return f"{at.day} {_MONTHS[at.month - 1]} {at.year}"
    if distance < timedelta(minutes=1):
        return "in under 1 min" if ahead and distance >= timedelta(seconds=5) else "just now"
    return f"in {span(distance)}" if ahead else f"{span(distance)} ago"
