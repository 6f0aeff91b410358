"""Rows by the million, written straight into the tables as the services would have left them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg

from tests.bench.stage import DRIVE_TOKEN, INPUT, OTHER_TOOLS, OUTPUT, TOOL

Connection = psycopg.Connection[Any]


def driven_runs(url: str, number: int, length: int, series: str) -> list[tuple[str, int]]:
    """Runs of an even number of events that DRIVE_TOKEN holds, calls and all; answers ids and next positions."""
    values: dict[str, Any] = {"number": number, "length": length, "series": series, "tool": TOOL}
    values |= {"input": INPUT, "output": OUTPUT, "lease": hashlib.sha256(DRIVE_TOKEN.encode()).digest()}
    with psycopg.connect(url) as connection:
        connection.execute("SET synchronous_commit = off")
        connection.execute(FACTS)
        rows = connection.execute(DRIVEN_RUNS, values).fetchall()
        values["runs"] = [row[0] for row in rows]
        connection.execute(DRIVEN_EVENTS, values)
        connection.execute(DRIVEN_INTENTS, values)
    vacuum(url)
    return [(str(run_id), next_seq) for _, run_id, next_seq in rows]


def lists(url: str, number: int) -> None:
    """That many runs with a call each: a tenth wait, a tenth were settled by a person, the others ended or go on.

    Of the last, only those events stand in the log that lists look at.
    """
    tables = ["ledger_run", "ledger_event", "ledger_intent", "settlement_case", "settlement_settlement"]
    values = {"number": number, "tools": [TOOL, *OTHER_TOOLS], "input": INPUT, "output": OUTPUT}
    # Spread over the same twelve days however many they are, so that the same part of them is overdue.
    values |= {"step": 1_000_000 / number}
    with psycopg.connect(url) as connection:
        connection.execute("SET synchronous_commit = off")
        connection.execute("SET maintenance_work_mem = '512MB'")
        connection.execute(FACTS)
        with _without_indexes(connection, tables):
            for statement in (RUNS, EVENTS, INTENTS, CASES, SETTLEMENTS):
                connection.execute(statement, values)
    vacuum(url)


def vacuum(url: str) -> None:
    """As autovacuum would leave it, so that none of it runs while something is measured."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


@contextmanager
def _without_indexes(connection: Connection, tables: Sequence[str]) -> Iterator[None]:
    """Foreign keys and indexes come back as they were, each at once; row by row they would take minutes."""
    again: list[str] = []
    for table, name, text in connection.execute(_FOREIGN_KEYS, {"tables": tables}).fetchall():
        _execute(connection, f'ALTER TABLE {table} DROP CONSTRAINT "{name}"')
        again.append(f'ALTER TABLE {table} ADD CONSTRAINT "{name}" {text}')
    for name, text in connection.execute(_INDEXES, {"tables": tables}).fetchall():
        _execute(connection, f'DROP INDEX "{name}"')
        # Indexes first: keys are checked with their help.
        again.insert(0, text)
    yield
    for statement in again:
        _execute(connection, statement)


def _execute(connection: Connection, statement: str) -> None:
    connection.execute(statement.encode())


_FOREIGN_KEYS: LiteralString = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype = 'f' AND conrelid::regclass::text = ANY(%(tables)s)
"""
_INDEXES: LiteralString = """
SELECT indexname, indexdef FROM pg_indexes
WHERE tablename = ANY(%(tables)s) AND indexname NOT IN (SELECT conname FROM pg_constraint)
"""

FACTS: LiteralString = """
CREATE TEMP TABLE facts ON COMMIT DROP AS
SELECT w.id AS workspace, w.last_publication AS publication, rt.id AS runtime, p.id AS noor,
       statement_timestamp() AS at
FROM people_workspace w JOIN runtimes_runtime rt ON rt.workspace_id = w.id
JOIN people_person p ON p.username = 'noor'
"""

# --- runs that are driven on: RunStarted, a recorded instant, then calls ---------------------------------------------

DRIVEN_RUNS: LiteralString = """
INSERT INTO ledger_run (workspace_id, run_id, opened_at, opened_by_id, next_seq, state, has_open_sleep,
  is_client_driven, input_tokens, output_tokens, step_count, agent_def_hash, first_recorded_at, last_recorded_at,
  lease_hash, lease_seen_at, lease_ttl_seconds, record_prompts, last_driver_id)
SELECT workspace, md5(%(series)s || n)::uuid, at, runtime, %(length)s, 'running', false, true, 0, 0, 0,
  '"sha256:bench"', at - n * interval '1 second', at, %(lease)s::bytea, at, 86400, false, runtime
FROM facts, generate_series(1, %(number)s) AS n
RETURNING id, run_id, next_seq
"""
DRIVEN_EVENTS: LiteralString = """
INSERT INTO ledger_event (run_id, seq, kind, payload, recorded_at)
SELECT run, seq,
  CASE WHEN seq = 0 THEN 'RunStarted' WHEN seq = 1 THEN 'NowObserved'
       WHEN seq %% 2 = 0 THEN 'ToolCallRequested' ELSE 'ToolCallCompleted' END,
  CASE WHEN seq = 0 THEN '{"agent_def_hash":"sha256:bench","driven_by":"client","input":null}'
       WHEN seq = 1 THEN '{"now":"2026-01-01T00:00:00Z"}'
       WHEN seq %% 2 = 0 THEN '{"effect":"write","idempotency_key":"sha256:' || encode(sha256((run || '-' || seq)::bytea), 'hex')
         || '","input":' || replace(%(input)s, 'ORDER', 'ord_' || run || '_' || seq)
         || ',"performed_by":"client","seq":' || seq || ',"tool":"' || %(tool)s || '"}'
       ELSE '{"output":' || replace(%(output)s, 'ORDER', 'ord_' || run || '_' || (seq - 1)) || ',"seq":' || (seq - 1) || '}'
  END, at
FROM facts, unnest(%(runs)s::bigint[]) AS run, generate_series(0, %(length)s - 1) AS seq
"""
DRIVEN_INTENTS: LiteralString = """
INSERT INTO ledger_intent (id, workspace_id, run_id, seq, tool, effect, idempotency_key, holds_claim, revision_id,
  publication, runtime_id, recorded_at, waits_at, listed_at, standing, closed_at, refusals, likeness, subject)
SELECT gen_random_uuid(), workspace, run, seq, %(tool)s, 'write',
  'sha256:' || encode(sha256((run || '-' || seq)::bytea), 'hex'), true, d.live_revision_id, publication, runtime,
  at, at + interval '15 minutes', at, 'completed', at, 0, sha256((run || '-' || seq)::bytea),
  '[["order_id","\\"ord_' || run || '_' || seq || '\\""],["amount_cents","12900"]]'
FROM facts JOIN reviews_document d ON d.workspace_id = workspace AND d.label = %(tool)s,
  unnest(%(runs)s::bigint[]) AS run, generate_series(2, %(length)s - 1, 2) AS seq
"""

# --- runs in lists: number n waits when n ends in 0, was settled when it ends in 1, completed up to 5 ----------------

RUNS: LiteralString = """
INSERT INTO ledger_run (id, workspace_id, run_id, opened_at, opened_by_id, next_seq, state, state_seq, pending_seq,
  has_open_sleep, is_client_driven, input_tokens, output_tokens, step_count, resting_state, agent_def_hash,
  first_recorded_at, last_recorded_at, record_prompts, last_driver_id)
OVERRIDING SYSTEM VALUE
SELECT 1000000 + n, workspace, md5('list' || n)::uuid, at - n * %(step)s * interval '1 second', runtime,
  CASE WHEN n %% 10 = 0 THEN 2 WHEN n %% 10 BETWEEN 2 AND 5 THEN 4 ELSE 3 END,
  CASE WHEN n %% 10 = 0 THEN 'needs_reconciliation' WHEN n %% 10 BETWEEN 2 AND 5 THEN 'completed' ELSE 'running' END,
  CASE WHEN n %% 10 BETWEEN 2 AND 5 THEN 3 END, CASE WHEN n %% 10 = 0 THEN 1 END,
  false, true, 120, 40, 1, CASE WHEN n %% 10 BETWEEN 2 AND 5 THEN 'completed' END, '"sha256:bench"',
  at - n * %(step)s * interval '1 second', at - n * %(step)s * interval '1 second', false, runtime
FROM facts, generate_series(1, %(number)s) AS n
"""
EVENTS: LiteralString = """
INSERT INTO ledger_event (run_id, seq, kind, payload, recorded_at)
SELECT 1000000 + n, 0, 'RunStarted', '{"agent_def_hash":"sha256:bench","driven_by":"client","input":null}',
  at - n * %(step)s * interval '1 second'
FROM facts, generate_series(1, %(number)s) AS n WHERE n %% 10 < 2
UNION ALL
SELECT 1000000 + n, 1, 'ToolCallRequested',
  '{"effect":"write","idempotency_key":"sha256:' || encode(sha256(n::text::bytea), 'hex') || '","input":'
  || replace(%(input)s, 'ORDER', 'ord_' || lpad(n::text, 12, '0'))
  || ',"performed_by":"client","seq":1,"tool":"' || (%(tools)s::text[])[1 + n / 10 %% 4] || '"}',
  at - n * %(step)s * interval '1 second'
FROM facts, generate_series(1, %(number)s) AS n WHERE n %% 10 < 2
UNION ALL
SELECT 1000000 + n, 2, 'ToolCallCompleted',
  '{"output":' || replace(%(output)s, 'ORDER', 'ord_' || lpad(n::text, 12, '0')) || ',"seq":1,"settled_by":"operator"}', at
FROM facts, generate_series(1, %(number)s) AS n WHERE n %% 10 = 1
UNION ALL
SELECT 1000000 + n, 3, 'RunCompleted', '{"output":"done"}', at
FROM facts, generate_series(1, %(number)s) AS n WHERE n %% 10 BETWEEN 2 AND 5
"""
INTENTS: LiteralString = """
INSERT INTO ledger_intent (id, workspace_id, run_id, seq, tool, effect, idempotency_key, holds_claim, revision_id,
  publication, runtime_id, recorded_at, waits_at, listed_at, standing, closed_at, refusals, likeness, subject)
SELECT md5('call' || n)::uuid, workspace, 1000000 + n, 1, d.label, 'write',
  'sha256:' || encode(sha256(n::text::bytea), 'hex'), true, d.live_revision_id, publication, runtime,
  at - n * %(step)s * interval '1 second', at - n * %(step)s * interval '1 second', at,
  CASE n %% 10 WHEN 0 THEN 'open' WHEN 1 THEN 'settled' ELSE 'completed' END,
  CASE WHEN n %% 10 > 0 THEN at END, 0, sha256(n::text::bytea),
  '[["order_id","\\"ord_' || lpad(n::text, 12, '0') || '\\""],["amount_cents","12900"]]'
FROM facts, generate_series(1, %(number)s) AS n
JOIN reviews_document d ON d.label = (%(tools)s::text[])[1 + n / 10 %% 4]
"""
CASES: LiteralString = """
INSERT INTO settlement_case (id, workspace_id, number, kind, intent_id, state, version, opened_at, decided_at)
SELECT md5('case' || n)::uuid, workspace, 1 + n / 10, 'unsettled', md5('call' || n)::uuid, 'settled_landed', 2,
  at - n * %(step)s * interval '1 second', at - n * %(step)s * interval '1 second'
FROM facts, generate_series(1, %(number)s) AS n WHERE n %% 10 = 1
"""
SETTLEMENTS: LiteralString = """
INSERT INTO settlement_settlement (id, case_id, person_id, outcome, reason_code, reason, output, appended_seq, via,
  settled_at)
SELECT gen_random_uuid(), md5('case' || n)::uuid, noor, 'landed', 'provider_record', 'Seen there.',
  replace(%(output)s, 'ORDER', 'ord_' || lpad(n::text, 12, '0')), 2, 'page', at - n * %(step)s * interval '1 second'
FROM facts, generate_series(1, %(number)s) AS n WHERE n %% 10 = 1
"""
