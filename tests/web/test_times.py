from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from salvor_admin.web import times

NOW = datetime(2026, 3, 12, 14, 33, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (-59, "just now"),
        (3, "just now"),
        (30, "in under 1 min"),
        (-60, "1 min ago"),
        (-41 * 60, "41 min ago"),
        (18 * 60, "in 18 min"),
        (-5 * 3600, "5 h ago"),
        (-47 * 3600, "47 h ago"),
        (-49 * 3600, "2 days ago"),
        (-30 * 86400, "10 February 2026"),
        (40 * 86400, "21 April 2026"),
    ],
)
def test_an_instant_is_told_in_one_unit(seconds: int, words: str) -> None:
    assert times.relative(NOW + timedelta(seconds=seconds), now=NOW) == words


def test_the_absolute_instant_names_its_zone() -> None:
    copenhagen = timezone(timedelta(hours=1))
    value = datetime(2026, 3, 12, 15, 33, 10, 999999, tzinfo=copenhagen)
    assert times.absolute(value) == "12 March 2026, 14:33:10 UTC"
    assert times.machine(value) == "2026-03-12T14:33:10Z"


def test_a_negative_span_is_none_at_all() -> None:
    assert times.span(timedelta(seconds=-5)) == "under 1 min"
    assert times.machine_span(timedelta(seconds=-5)) == "PT0S"
