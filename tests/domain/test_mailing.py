"""Which mail when: groups, modes, pauses and the hour of digests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from salvor_admin.domain import mailing
from salvor_admin.domain.mailing import Group, Kind, Mode


def test_every_kind_belongs_to_a_group_and_every_group_but_access_has_a_default() -> None:
    assert set(mailing.GROUP_OF) == set(Kind)
    assert set(mailing.DEFAULTS) == set(Group) - {Group.ACCESS}


@pytest.mark.parametrize("kind", sorted(mailing.ASKING))
def test_whoever_is_asked_to_act_hears_at_once_unless_they_chose_otherwise(kind: Kind) -> None:
    assert mailing.mode_of(kind, {}) is Mode.AT_ONCE
    assert mailing.mode_of(kind, {mailing.GROUP_OF[kind]: Mode.OFF}) is Mode.OFF


def test_what_is_only_good_to_know_comes_by_digest() -> None:
    assert mailing.mode_of(Kind.CALL_ANSWERED, {}) is Mode.DIGEST


def test_news_about_access_to_oneself_cannot_be_put_off() -> None:
    assert mailing.mode_of(Kind.TOKEN_MADE, dict.fromkeys(Group, Mode.OFF)) is Mode.AT_ONCE


def test_pauses_double_up_to_six_hours() -> None:
    minutes = [mailing.pause(attempts) // timedelta(minutes=1) for attempts in (1, 2, 3, 9, 10, 12, 400)]
    assert minutes == [1, 2, 4, 256, 360, 360, 360]


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (datetime(2026, 3, 12, 6, 59, tzinfo=UTC), datetime(2026, 3, 12, 7, tzinfo=UTC)),
        (datetime(2026, 3, 12, 7, tzinfo=UTC), datetime(2026, 3, 13, 7, tzinfo=UTC)),
        (datetime(2026, 12, 31, 23, tzinfo=UTC), datetime(2027, 1, 1, 7, tzinfo=UTC)),
        (datetime(2026, 3, 12, 8, tzinfo=timezone(timedelta(hours=2))), datetime(2026, 3, 12, 7, tzinfo=UTC)),
    ],
)
def test_digests_are_due_once_a_day_at_their_hour(now: datetime, due: datetime) -> None:
    assert mailing.next_digest(now, hour=7) == due


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (datetime(2026, 3, 12, 6, 59, 59, tzinfo=UTC), datetime(2026, 3, 12, 7, tzinfo=UTC)),
        (datetime(2026, 3, 12, 7, tzinfo=UTC), datetime(2026, 3, 12, 7, 10, tzinfo=UTC)),
        (datetime(2026, 12, 31, 23, 55, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)),
    ],
)
def test_what_comes_in_a_storm_waits_for_the_next_ten_minutes(now: datetime, due: datetime) -> None:
    assert mailing.next_slot(now, timedelta(minutes=10)) == due
