"""The ledger's own statements: prepared on Django's connection, and what happens when the server forgets."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from salvor_admin.ledger.statements import Statement, execute, run

ADD = Statement("SELECT %(one)s::integer + %(other)s::integer, %(text)s::text, %(flag)s::boolean", repeatable=True)
VALUES: dict[str, Any] = {"one": 1, "other": 2, "text": "é\\", "flag": True}
SUM = [(b"3", "é\\".encode(), b"t")]


@pytest.mark.django_db(transaction=True)
def test_a_statement_is_prepared_once_a_connection() -> None:
    assert run(ADD, VALUES) == run(ADD, VALUES | {"one": 0, "other": 3}) == SUM
    names = execute("SELECT name FROM pg_prepared_statements WHERE name LIKE 'ledger_%%'", {})
    assert (ADD.name.decode(),) in names


@pytest.mark.django_db(transaction=True)
def test_a_statement_that_the_server_forgot_is_prepared_again() -> None:
    assert run(ADD, VALUES) == SUM
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    assert run(ADD, VALUES) == SUM


@pytest.mark.django_db(transaction=True)
def test_a_table_that_changed_beneath_a_statement_is_read_as_it_is_now() -> None:
    everything = Statement("SELECT * FROM changing")
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE changing (one integer)")
        cursor.execute("INSERT INTO changing VALUES (1)")
    try:
        assert run(everything, {}) == [(b"1",)]
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE changing ADD COLUMN other text DEFAULT 'x'")
        assert run(everything, {}) == [(b"1", b"x")]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE changing")


@pytest.mark.django_db(transaction=True)
def test_a_look_over_a_connection_that_died_is_taken_again() -> None:
    assert run(ADD, VALUES) == SUM
    (pid,) = execute("SELECT pg_backend_pid()", {})[0]
    with connection.copy().cursor() as other:
        other.execute("SELECT pg_terminate_backend(%s)", [pid])
    assert run(ADD, VALUES) == SUM


@pytest.mark.django_db(transaction=True)
def test_a_write_over_a_connection_that_died_is_not_sent_again() -> None:
    once = Statement("SELECT 1")
    run(once, {})
    (pid,) = execute("SELECT pg_backend_pid()", {})[0]
    with connection.copy().cursor() as other:
        other.execute("SELECT pg_terminate_backend(%s)", [pid])
    with pytest.raises(psycopg.OperationalError):
        run(once, {})
    connection.close()
    assert run(once, {}) == [(b"1",)]


@pytest.mark.django_db
def test_within_a_block_statements_take_part_in_it() -> None:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE mine (one integer)")
        run(Statement("INSERT INTO mine VALUES (%(one)s::integer)"), {"one": 7})
        assert execute("SELECT one FROM mine", {}) == [(7,)]
        transaction.set_rollback(True)
    assert execute("SELECT to_regclass('mine') IS NULL", {}) == [(True,)]


@pytest.mark.django_db
def test_an_error_within_a_block_spoils_it() -> None:
    with pytest.raises(transaction.TransactionManagementError), transaction.atomic():
        with pytest.raises(psycopg.errors.DivisionByZero):
            run(Statement("SELECT 1 / %(none)s::integer"), {"none": 0})
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")


@pytest.mark.django_db
def test_a_text_that_the_database_would_cut_is_not_sent() -> None:
    with pytest.raises(ValueError, match="NUL"):
        run(ADD, VALUES | {"text": "a\0b"})
    with pytest.raises(KeyError):
        run(ADD, VALUES | {"text": 1.5})
