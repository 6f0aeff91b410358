"""Instants: contract 3.1 and the transcripts append-11 and quirk-04."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from salvor_admin.domain import instants


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("2026-03-04T10:15:30Z", "2026-03-04T10:15:30Z"),
        ("2026-03-04T10:15:30+02:00", "2026-03-04T10:15:30+02:00"),
        ("2026-03-04T10:15:30.500Z", "2026-03-04T10:15:30.5Z"),
        ("2026-03-04T10:15:30.123456789Z", "2026-03-04T10:15:30.123456789Z"),
        ("2026-03-04T10:15:30-00:00", "2026-03-04T10:15:30Z"),
        ("2026-03-04T10:15:30.000+00:00", "2026-03-04T10:15:30Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
        ("2026-03-04t10:15:30z", "2026-03-04T10:15:30Z"),
        ("2026-03-04 10:15:30Z", "2026-03-04T10:15:30Z"),
        ("2026-03-04T10:15:30.12345678999Z", "2026-03-04T10:15:30.123456789Z"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999999999Z"),
        ("2026-03-04T10:15:30+23:59", "2026-03-04T10:15:30+23:59"),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
        ("2000-02-29T00:00:00Z", "2000-02-29T00:00:00Z"),
    ],
)
def test_an_instant_keeps_its_offset_and_loses_trailing_zeros(given: str, written: str) -> None:
    instant = instants.read(given)
    assert instant is not None
    assert instant.text == written


@pytest.mark.parametrize(
    "given",
    [
        "2026-03-04T10:15:30",
        "2026-03-04T10:15:30+0200",
        "2026-03-04T24:00:00Z",
        "2026-02-30T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "2026-03-04T23:59:60Z",
        "2016-12-31T23:59:60+01:00",
        "2026-03-04T10:15:30+24:00",
        "2026-03-04T10:15:30+02:60",
        "2026-03-04T10:15Z",
        "2026-03-04",
        "2026-03-04T10:15:30.Z",
        "2026-03-04T10:60:30Z",
        "2026-13-04T10:15:30Z",
        "2026-03-04T10:15:30Z ",
        "２026-03-04T10:15:30Z",
        "",
    ],
)
def test_what_is_no_instant_is_not_read(given: str) -> None:
    assert instants.read(given) is None


def test_two_spellings_of_one_moment_lie_at_one_place() -> None:
    here, there = instants.read("2026-03-04T10:15:30+02:00"), instants.read("2026-03-04T08:15:30Z")
    assert here is not None
    assert there is not None
    assert here.nanoseconds == there.nanoseconds
    assert here.utc_text == "2026-03-04T08:15:30Z"


def test_a_leap_second_is_judged_in_utc() -> None:
    instant = instants.read("2017-01-01T00:59:60+01:00")
    assert instant is not None
    assert instant.text == "2017-01-01T00:59:59.999999999+01:00"


@pytest.mark.parametrize("given", ["9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+01:00"])
def test_an_instant_outside_the_utc_years_cannot_be_written_back(given: str) -> None:
    instant = instants.read(given)
    assert instant is not None
    assert not instant.has_utc_text


@pytest.mark.parametrize("given", ["9999-12-31T23:59:59.999999999Z", "0000-01-01T00:00:00Z"])
def test_the_first_and_the_last_utc_instant_can_be_written_back(given: str) -> None:
    instant = instants.read(given)
    assert instant is not None
    assert instant.has_utc_text
    assert instant.utc_text == given


def test_a_datetime_is_written_in_utc_without_trailing_zeros() -> None:
    moment = datetime(2026, 3, 4, 10, 15, 30, 500_000, tzinfo=UTC)
    assert instants.from_datetime(moment).text == "2026-03-04T10:15:30.5Z"
    assert instants.from_datetime(moment.replace(microsecond=0)).text == "2026-03-04T10:15:30Z"
