from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from uuid import UUID

import pytest

from salvor_admin.domain.refusals import Refusal
from salvor_admin.web.pagination import decode_cursor, encode_cursor, read_limit

ORDER = ("-waits_at", "id")
KINDS = (datetime, UUID)
AT = datetime(2026, 3, 12, 14, 33, 10, 123456, tzinfo=UTC)
ROW = UUID("5691f3d0-d4aa-45b9-9875-2127c31e039e")


def forged(content: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def mark() -> str:
    cursor = encode_cursor(ORDER, [AT, ROW])
    return str(json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))[0])


def test_a_cursor_names_the_last_row_to_the_microsecond() -> None:
    assert decode_cursor(encode_cursor(ORDER, [AT, ROW]), ORDER, KINDS) == (AT, ROW)


def test_a_cursor_fits_an_address_as_it_is() -> None:
    cursor = encode_cursor(("name", "id"), ["øre/+?&", 7])
    assert set(cursor) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    assert decode_cursor(cursor, ("name", "id"), (str, int)) == ("øre/+?&", 7)


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "!!!!",
        "é",
        "A" * 5000,
        "bnVsbA",
        forged({}),
        forged([]),
        forged([1, 2, 3]),
        forged([mark(), AT.isoformat()]),
        forged([mark(), AT.isoformat(), str(ROW), 1]),
        forged([mark(), 5, str(ROW)]),
        forged([mark(), "2026-03-12T14:33:10", str(ROW)]),
        forged([mark(), "yesterday", str(ROW)]),
        forged([mark(), AT.isoformat(), "not-a-uuid"]),
        forged([mark(), AT.isoformat(), None]),
        forged(["00000000", AT.isoformat(), str(ROW)]),
        base64.urlsafe_b64encode(b"[" * 3000).decode(),
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
    ],
)
def test_a_cursor_that_is_not_ours_is_refused(cursor: str) -> None:
    with pytest.raises(Refusal) as refused:
        decode_cursor(cursor, ORDER, KINDS)
    assert (refused.value.code, refused.value.place) == ("bad_request", "cursor")


@pytest.mark.parametrize("value", [True, 2**63, "1", 1.5, None])
def test_only_a_whole_number_of_the_database_counts_as_one(value: object) -> None:
    known = encode_cursor(("id",), [1])
    ours = json.loads(base64.urlsafe_b64decode(known + "=" * (-len(known) % 4)))[0]
    with pytest.raises(Refusal):
        decode_cursor(forged([ours, value]), ("id",), (int,))


@pytest.mark.parametrize("value", ["a\0b", "\ud83d"])
def test_text_the_database_cannot_hold_is_refused_before_it_gets_there(value: str) -> None:
    known = encode_cursor(("name",), ["a"])
    ours = json.loads(base64.urlsafe_b64decode(known + "=" * (-len(known) % 4)))[0]
    with pytest.raises(Refusal):
        decode_cursor(forged([ours, value]), ("name",), (str,))


def test_a_column_that_may_be_null_cannot_order_pages() -> None:
    with pytest.raises(TypeError):
        encode_cursor(("at",), [None])  # type: ignore[list-item]


@pytest.mark.parametrize(("text", "limit"), [(None, 50), ("", 50), ("1", 1), ("200", 200)])
def test_the_limit_is_fifty_unless_said(text: str | None, limit: int) -> None:
    assert read_limit(text) == limit


@pytest.mark.parametrize("text", ["0", "201", "-1", "1.0", "ten", "９", "1" * 5000])
def test_an_odd_limit_is_refused_by_name(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_limit(text)
    assert (refused.value.code, refused.value.place) == ("bad_request", "limit")
