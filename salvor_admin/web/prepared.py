"""Reading statements that every request asks, prepared once a connection: planning their joins costs more than running them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import psycopg
from django.db import connection, transaction

#: Of Django's own statements none is prepared; these ask for it.
_NEVER_BY_ITSELF: Final = 2**31


def rows(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The rows of one reading statement, over Django's own connection so that tests see what they wrote.

    A connection that died since the last request is found out here and made anew, once.
    """
    try:
        return _ask(statement, values)
    except psycopg.OperationalError:
        raw = cast("psycopg.Connection[Any]", connection.connection)
        if connection.in_atomic_block or not (raw.closed or raw.broken):
            raise
        connection.close()
        return _ask(statement, values)


def _ask(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    connection.ensure_connection()
    raw = cast("psycopg.Connection[Any]", connection.connection)
    if raw.prepare_threshold is None:
        raw.prepare_threshold = _NEVER_BY_ITSELF
    if connection.queries_logged:
        connection.queries_log.append({"sql": statement, "time": "0"})
    try:
        with psycopg.Cursor(raw) as cursor:
            cursor.execute(statement.encode(), values, prepare=True)
            return cursor.fetchall()
    except psycopg.Error:
        if connection.in_atomic_block:
            transaction.set_rollback(True)
        raise
