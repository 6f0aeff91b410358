"""Models and migrations agree, and history cannot be changed behind the program's back by accident."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction

from salvor_admin.audit.models import Entry
from salvor_admin.people.access import Actor
from salvor_admin.reviews.models import Revision
from tests.reviews.factories import a_submitted_change

pytestmark = pytest.mark.django_db

#: Tables whose rows are neither changed nor deleted (design section 6, rule 3).
HISTORY = {
    "audit_entry",
    "ledger_decision",
    "ledger_event",
    "ledger_leaseend",
    "ledger_report",
    "reviews_acknowledgement",
    "reviews_comment",
    "reviews_finding",
    "reviews_publication",
    "reviews_publicationitem",
    "reviews_revision",
    "reviews_verdict",
    "settlement_evidence",
    "settlement_note",
    "settlement_settlement",
}


def test_the_models_need_no_migration_that_is_not_there() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_every_table_of_history_has_its_trigger() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT event_object_table FROM information_schema.triggers WHERE trigger_name LIKE '%_only_grows'"
        )
        guarded = {table for (table,) in cursor.fetchall()}
    assert guarded >= HISTORY


@pytest.mark.parametrize("statement", ["UPDATE {} SET digest = 'sha256:0'", "DELETE FROM {}"])
@pytest.mark.parametrize("model", [Entry, Revision])
def test_a_row_of_history_is_neither_changed_nor_deleted(
    statement: str, model: type[Entry | Revision], ada: Actor
) -> None:
    a_submitted_change(author=ada)
    before = list(model.objects.order_by("pk").values_list("pk", "digest"))
    with pytest.raises(DatabaseError, match="history only grows"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement.format(model._meta.db_table))
    assert list(model.objects.order_by("pk").values_list("pk", "digest")) == before


def test_no_foreign_key_into_history_deletes_or_nulls() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT conname FROM pg_constraint WHERE contype = 'f' AND confdeltype NOT IN ('a', 'r')")
        assert cursor.fetchall() == []
