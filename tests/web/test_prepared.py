"""Prepared reads: over Django's connection, and over a new one where the old one died."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from salvor_admin.web import prepared

BACKEND = "SELECT pg_backend_pid()"


@pytest.mark.django_db
def test_a_read_sees_what_the_transaction_wrote() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE seen ON COMMIT DROP AS SELECT 5 AS number")
    assert prepared.rows("SELECT number FROM seen WHERE number = %s", [5]) == [(5,)]


@pytest.mark.django_db
def test_a_read_is_counted_like_any_other(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        prepared.rows("SELECT 1", [])


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_died_in_between_is_made_anew() -> None:
    [(backend,)] = prepared.rows(BACKEND, [])
    with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": psycopg.Cursor}) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
    assert prepared.rows(BACKEND, []) != [(backend,)]


@pytest.mark.django_db(transaction=True)
def test_inside_a_transaction_a_dead_connection_is_told() -> None:
    with pytest.raises(psycopg.OperationalError), transaction.atomic():
        [(backend,)] = prepared.rows(BACKEND, [])
        with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": psycopg.Cursor}) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
        prepared.rows(BACKEND, [])
