"""Running the ledger's own statements on Django's connection, prepared, so that tests roll them back with the rest.

Not through Django's cursor: it binds values on the client and prepares nothing, and planning these joins anew costs ten
times what running them does (docs/decisions/hot-path.md).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast
from uuid import UUID

import psycopg
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from psycopg import errors, pq

NEVER_BY_ITSELF: Final = 2**31
"""Of Django's own statements none is prepared; ours ask for it."""

_NAMES: Final = re.compile(r"%\((\w+)\)s")
_OK: Final = frozenset({pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK})
#: The server forgot a prepared statement, or a table changed beneath it: it is prepared again, nothing was run.
_FORGOTTEN: Final = frozenset({"26000", "0A000"})

Row = tuple[bytes | None, ...]


class Statement:
    """A statement of the hot path, with `%(name)s` places; every place says its type where the server cannot tell."""

    def __init__(self, text: str, *, repeatable: bool = False) -> None:
        self.names = tuple(dict.fromkeys(_NAMES.findall(text)))
        places = {name: f"${at}" for at, name in enumerate(self.names, start=1)}
        self.sql = _NAMES.sub(lambda match: places[match[1]], text).encode()
        self.name = b"ledger_" + hashlib.sha256(self.sql).hexdigest()[:24].encode()
        self.repeatable = repeatable
        """May be sent again when its connection turns out to be dead."""


def run(statement: Statement, values: Mapping[str, Any]) -> list[Row]:
    """The rows of a statement, every value as the server's text; what the cursor does on top costs as much as Python
    needs for the rest of a request."""
    parameters = [_SPELL[type(value)](value) for value in map(values.__getitem__, statement.names)]
    # Asked for once: Django looks the thread's connection up anew whenever its proxy is touched.
    database = connections[DEFAULT_DB_ALIAS]
    for attempt in (1, 2):
        database.ensure_connection()
        raw = cast("psycopg.Connection[Any]", database.connection)
        try:
            result = _sent(raw, statement, parameters, is_in_block=database.in_atomic_block)
        except psycopg.OperationalError:
            # A connection that died since the last request is found out here; nothing of ours was under way on it.
            if attempt == 2 or database.in_atomic_block or not raw.broken or not statement.repeatable:
                raise
            database.close()
            continue
        value, columns = result.get_value, range(result.nfields)
        return [tuple([value(at, column) for column in columns]) for at in range(result.ntuples)]
    raise AssertionError


def execute(statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of a statement off the hot path, prepared too, values read by their types."""
    connection.ensure_connection()
    raw = cast("psycopg.Connection[Any]", connection.connection)
    if raw.prepare_threshold is None:
        raw.prepare_threshold = NEVER_BY_ITSELF
    try:
        with psycopg.Cursor(raw) as cursor:
            cursor.execute(statement.encode(), values, prepare=True)
            return cursor.fetchall() if cursor.pgresult is not None and cursor.pgresult.nfields else []
    except psycopg.OperationalError:
        # Nothing of ours was under way on a connection that is found dead: the next request opens another.
        if not connection.in_atomic_block and raw.broken:
            connection.close()
        raise
    except psycopg.Error:
        _spoil()
        raise


def _sent(
    raw: psycopg.Connection[Any], statement: Statement, parameters: list[bytes | None], *, is_in_block: bool
) -> pq.abc.PGresult:
    session = raw.pgconn
    if is_in_block:
        # A rolled back block may take prepared statements with it, and there is no trying again inside one.
        return _checked(raw, session.exec_params(statement.sql, parameters))
    prepared = raw.__dict__.get("_ledger_statements")
    if prepared is None:
        prepared = raw.__dict__["_ledger_statements"] = set()
    for attempt in (1, 2):
        if statement not in prepared:
            _checked(raw, session.prepare(statement.name, statement.sql))
            prepared.add(statement)
        try:
            return _checked(raw, session.exec_prepared(statement.name, cast("list[bytes]", parameters)))
        except psycopg.Error as error:
            if attempt == 2 or error.sqlstate not in _FORGOTTEN:
                raise
            prepared.discard(statement)
            if error.sqlstate == "0A000":
                session.exec_(b"DEALLOCATE " + statement.name)
    raise AssertionError


def _checked(raw: psycopg.Connection[Any], result: pq.abc.PGresult) -> pq.abc.PGresult:
    if result.status in _OK:
        return result
    _spoil()
    error = errors.error_from_result(result)
    if raw.pgconn.status != pq.ConnStatus.OK:
        raise psycopg.OperationalError(str(error)) from None
    raise error


def _spoil() -> None:
    if connection.in_atomic_block:
        transaction.set_rollback(True)


def _text(value: str) -> bytes:
    if "\0" in value:
        raise ValueError("a text for the database holds the NUL character")
    return value.encode()


_SPELL: Final[Mapping[type, Callable[[Any], bytes | None]]] = {
    type(None): lambda value: None,
    str: _text,
    bool: lambda value: b"t" if value else b"f",
    int: lambda value: b"%d" % value,
    bytes: lambda value: b"\\x" + value.hex().encode(),
    UUID: lambda value: str(value).encode(),
}
