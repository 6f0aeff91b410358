"""Keyset pages: a cursor is the place of the last row seen, its ordering tuple ending in the id."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar
from uuid import UUID

from django.core.exceptions import FieldDoesNotExist
from django.db.models import DateTimeField, F, Field, IntegerField, Model, Q, QuerySet, UUIDField

from salvor_admin.domain.refusals import Refusal

CursorValue: TypeAlias = str | int | bool | datetime | UUID
Row = TypeVar("Row", bound=Model)

DEFAULT_LIMIT = 50
GREATEST_LIMIT = 200
_LONGEST_CURSOR = 4096


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows in order, and the cursor of the page after them, or None at the end."""

    rows: list[Row]
    next_cursor: str | None


def _malformed(place: str = "cursor") -> NoReturn:
    raise Refusal(
        "bad_request",
        "This cursor is not one of ours, or belongs to another sorting. Start again from the first page.",
        place=place,
    )


def _order_mark(order: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(order).encode()).hexdigest()[:8]


def encode_cursor(order: Sequence[str], values: Sequence[CursorValue]) -> str:
    """Where a page ended, as opaque text that fits an address."""
    plain: list[str | int | bool] = []
    for value in values:
        if isinstance(value, datetime):
            plain.append(value.isoformat())
        elif isinstance(value, UUID):
            plain.append(str(value))
        elif isinstance(value, (str, int)):
            plain.append(value)
        else:
            raise TypeError(f"{value!r} cannot stand in a cursor; order by columns that are never null")
    text = json.dumps([_order_mark(order), *plain], separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def decode_cursor(cursor: str, order: Sequence[str], kinds: Sequence[type]) -> tuple[CursorValue, ...]:
    """The ordering tuple in a cursor, or 400 `bad_request` when it is not one for this order."""
    if len(cursor) > _LONGEST_CURSOR or not cursor.isascii():
        _malformed()
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("utf-8")
        plain = json.loads(text)
    except (binascii.Error, ValueError, RecursionError):
        _malformed()
    if not isinstance(plain, list) or len(plain) != len(kinds) + 1 or plain[0] != _order_mark(order):
        _malformed()
    return tuple(_read(value, kind) for value, kind in zip(plain[1:], kinds, strict=True))


def _read(value: object, kind: type) -> CursorValue:
    try:
        if kind is datetime and isinstance(value, str):
            instant = datetime.fromisoformat(value)
            return instant if instant.tzinfo is not None else _malformed()
        if kind is UUID and isinstance(value, str):
            return UUID(value)
    except ValueError:
        _malformed()
    # A bool is an int to Python, never to a cursor; a number beyond bigint or a NUL would only fail in the database.
    if kind is bool and isinstance(value, bool):
        return value
    if kind is int and type(value) is int and -(2**63) <= value < 2**63:
        return value
    if kind is str and isinstance(value, str) and "\0" not in value:
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            _malformed()
        return value
    _malformed()


def read_limit(text: str | None) -> int:
    """`?limit=`: 1 to 200, 50 when it is not given."""
    if text is None or text == "":
        return DEFAULT_LIMIT
    if not (text.isascii() and text.isdecimal() and len(text) < 5 and 1 <= int(text) <= GREATEST_LIMIT):
        raise Refusal(
            "bad_request",
            f"limit must be a whole number from 1 to {GREATEST_LIMIT}; leave it out for {DEFAULT_LIMIT}.",
            place="limit",
        )
    return int(text)


def _kind(field: Field[Any, Any]) -> type:
    if isinstance(field, DateTimeField):
        return datetime
    if isinstance(field, UUIDField):
        return UUID
    if isinstance(field, IntegerField):
        return int
    if field.get_internal_type() == "BooleanField":
        return bool
    return str


def _kinds(rows: QuerySet[Row], names: Sequence[str]) -> list[type]:
    kinds: list[type] = []
    for name in names:
        try:
            field = rows.model._meta.pk if name == "pk" else rows.model._meta.get_field(name)
        except FieldDoesNotExist:
            field = rows.query.annotations[name].output_field
        kinds.append(_kind(field))  # type: ignore[arg-type]
    return kinds


def _beyond(names: Sequence[str], falling: Sequence[bool], values: Sequence[CursorValue]) -> Q:
    """Rows after the tuple in this order. The bound on the first column alone is what an index can use."""
    steps: list[Q] = []
    for at, name in enumerate(names):
        same = dict(zip(names[:at], values[:at], strict=True))
        steps.append(Q(**same) & Q(**{f"{name}__{'lt' if falling[at] else 'gt'}": values[at]}))
    bound = Q(**{f"{names[0]}__{'lte' if falling[0] else 'gte'}": values[0]})
    return bound & reduce(operator.or_, steps)


def keyset_page(rows: QuerySet[Row], order: Sequence[str], *, cursor: str | None, limit: int) -> Page[Row]:
    """One page of `rows` in `order` (fixed names, `-` for falling, never null, the last one unique), by one query."""
    names = [name.lstrip("-") for name in order]
    falling = [name.startswith("-") for name in order]
    kinds = _kinds(rows, names)
    if cursor:
        rows = rows.filter(_beyond(names, falling, decode_cursor(cursor, order, kinds)))
    ordered = rows.order_by(*(F(name).desc() if down else F(name) for name, down in zip(names, falling, strict=True)))
    found = list(ordered[: limit + 1])
    if len(found) <= limit:
        return Page(found, None)
    last = found[limit - 1]
    return Page(found[:limit], encode_cursor(order, [getattr(last, name) for name in names]))
