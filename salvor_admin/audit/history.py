"""SQL that makes a table's rows unchangeable; used by the migrations of every app that keeps history."""

from __future__ import annotations

from django.db.migrations.operations.special import RunSQL

FUNCTION = RunSQL(
    """
    CREATE OR REPLACE FUNCTION salvor_history_only_grows() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'history only grows: a row of % is neither changed nor deleted', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
    END
    $$;
    """,
    "DROP FUNCTION IF EXISTS salvor_history_only_grows() CASCADE;",
)


def only_grows(table: str) -> RunSQL:
    """The migration step after which no row of `table` is updated or deleted any more."""
    return RunSQL(
        f"CREATE TRIGGER {table}_only_grows BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION salvor_history_only_grows();",
        f"DROP TRIGGER IF EXISTS {table}_only_grows ON {table};",
    )
