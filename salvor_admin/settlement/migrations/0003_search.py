"""What the inbox finds by: the values of pinned and identity fields and the key, whole or from their beginning."""

from django.db import migrations

TERMS = """
CREATE FUNCTION call_terms(subject text, idempotency_key text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 1000 AS $$
    SELECT array_to_tsvector(ARRAY(
        SELECT lower(left(term, 200))
        FROM (
            SELECT btrim(field ->> 1, '"') AS term
            FROM jsonb_array_elements(
                CASE WHEN pg_input_is_valid(subject, 'jsonb') THEN subject::jsonb ELSE '[]'::jsonb END
            ) AS field
            UNION ALL
            SELECT substr(idempotency_key, 8)
        ) AS terms
        WHERE term <> ''
    ))
$$
"""

# Only what waits is found by it: a call that was closed leaves the index, and one that never waited was never in it.
INDEX = """
CREATE INDEX intents_waiting_terms ON ledger_intent
USING gin (call_terms(subject, idempotency_key)) WHERE standing = 'open' AND listed_at IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies = [("settlement", "0002_history_only_grows"), ("ledger", "0001_first")]
    operations = [
        migrations.RunSQL(TERMS, "DROP FUNCTION call_terms(text, text)"),
        migrations.RunSQL(INDEX, "DROP INDEX intents_waiting_terms"),
    ]
