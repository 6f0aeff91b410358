"""The database's clock: it alone judges leases, claims, due times and expiries."""

from __future__ import annotations

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """The time at the database, aware, in UTC; moves on inside a transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    assert isinstance(now, datetime)
    return now
