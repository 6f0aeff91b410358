"""Instants as a log keeps them: RFC 3339 text with its own offset, to the nanosecond."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

NANOSECONDS = 1_000_000_000

_SHAPE = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True, slots=True)
class Instant:
    """One moment: how it is written, and where it lies on the time line."""

    text: str
    nanoseconds: int
    """Since 1970 in UTC."""

    @property
    def has_utc_text(self) -> bool:
        """Whether its UTC form stays within the years 0 to 9999, so that it can be written and read back."""
        return _FIRST <= self.nanoseconds < _END

    @property
    def utc_text(self) -> str:
        seconds, nanoseconds = divmod(self.nanoseconds, NANOSECONDS)
        days, second_of_day = divmod(seconds, 86_400)
        return _written(*_civil(days), second_of_day, nanoseconds) + "Z"


def read(text: str) -> Instant | None:
    """Read an instant (contract 3.1), or None when the text is none.

    Digits past the ninth are cut. A second 60 is read only where a leap second can be, as the last instant before it.
    """
    match = _SHAPE.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    fraction, sign, offset_hours, offset_minutes = match.groups()[6:]
    if not 1 <= month <= 12 or not 1 <= day <= _month_length(year, month):
        return None
    if hour > 23 or minute > 59 or second > 60:
        return None
    offset = 0
    if sign is not None:
        if int(offset_hours) > 23 or int(offset_minutes) > 59:
            return None
        offset = (int(offset_hours) * 60 + int(offset_minutes)) * (-60 if sign == "-" else 60)
    nanoseconds = int((fraction or "0")[:9].ljust(9, "0"))
    is_leap_second = second == 60
    if is_leap_second:
        second, nanoseconds = 59, NANOSECONDS - 1
    second_of_day = hour * 3600 + minute * 60 + second
    moment = _days(year, month, day) * 86_400 + second_of_day - offset
    if is_leap_second and not _ends_a_month(moment):
        return None
    suffix = f"{sign}{offset_hours}:{offset_minutes}" if offset else "Z"
    written = _written(year, month, day, second_of_day, nanoseconds) + suffix
    return Instant(written, moment * NANOSECONDS + nanoseconds)


def from_datetime(moment: datetime) -> Instant:
    """The instant of an aware datetime."""
    since = moment - datetime.fromisoformat("1970-01-01T00:00:00+00:00")
    seconds = since.days * 86_400 + since.seconds
    nanoseconds = seconds * NANOSECONDS + since.microseconds * 1000
    return Instant(Instant("", nanoseconds).utc_text, nanoseconds)


def _written(year: int, month: int, day: int, second_of_day: int, nanoseconds: int) -> str:
    hour, rest = divmod(second_of_day, 3600)
    minute, second = divmod(rest, 60)
    text = f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
    return f"{text}.{nanoseconds:09}".rstrip("0") if nanoseconds else text


def _is_leap_year(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _month_length(year: int, month: int) -> int:
    return 29 if month == 2 and _is_leap_year(year) else _MONTH_LENGTHS[month - 1]


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01; unlike `datetime`, year 0 counts."""
    if month <= 2:
        year, month = year - 1, month + 12
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month - 3) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def _civil(days: int) -> tuple[int, int, int]:
    """The date that many days after 1970-01-01."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + (3 if month_from_march < 10 else -9)
    return year_of_era + era * 400 + (month <= 2), month, day


def _ends_a_month(moment: int) -> bool:
    days, second_of_day = divmod(moment, 86_400)
    year, month, day = _civil(days)
    return second_of_day == 86_399 and day == _month_length(year, month)


_FIRST = _days(0, 1, 1) * 86_400 * NANOSECONDS
_END = _days(10_000, 1, 1) * 86_400 * NANOSECONDS
