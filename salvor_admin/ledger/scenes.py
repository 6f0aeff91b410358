"""What one request on a run is judged by, read in one statement: its token, the run's head and lease, its call."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast
from uuid import UUID

import psycopg
from django.db import connection, transaction

from salvor_admin.domain import events, leases
from salvor_admin.domain.events import Event
from salvor_admin.domain.leases import Lease
from salvor_admin.domain.ledger import Claim
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.run_state import RunHead, RunState

MAX_SEQ: Final = 2**62
"""Beyond every log: positions are stored as bigint, while clients may name any u64."""


@dataclass(frozen=True, slots=True)
class Door:
    """What a runtime's request presents before its body is looked at."""

    token_hash: bytes
    run_id: str | None = None
    """Lower-case hyphenated; None when the path holds no UUID."""
    drive_token: str | None = None
    refusal: Refusal | None = None
    """What is told to a known runtime before its run is looked at: a body too large, a query that cannot be read."""

    @property
    def lease_hash(self) -> bytes | None:
        return None if self.drive_token is None else hashed(self.drive_token)


@dataclass(frozen=True, slots=True)
class Scene:
    """One consistent look at everything a runtime's request on a run needs."""

    runtime_id: UUID
    workspace_id: int
    publication: int
    patience_seconds: int
    lease_ttl_seconds: int
    loaded_publication: int | None
    run_pk: int | None
    run_id: str
    head: RunHead
    lease: Lease | None
    lease_hash: bytes | None
    """Of the drive token that the request presents."""
    stored_lease_hash: bytes | None
    record_prompts: bool
    held_ttl_seconds: int
    recorded: Event | None
    following: Event | None
    intent_revision_id: int | None
    content_key: str | None
    claim: Claim | None

    def pass_gate(self, door: Door) -> None:
        """Lets a driving request through, or refuses it in the contract's order (6.0)."""
        self.pass_door(door)
        leases.decide_gate(self.lease, run_id=self.run_id, presented=door.drive_token)

    def pass_door(self, door: Door) -> None:
        """What is looked at before the run's lease."""
        if door.refusal is not None:
            raise door.refusal
        if door.run_id is None:
            raise bad_run_id()

    def touch_lease(self) -> None:
        """The driver showed itself, though nothing is written for it."""
        execute(_TOUCH, {"run": self.run_pk, "lease": self.lease_hash})


class UnknownToken(Refusal):
    """The bearer token opens nothing for a runtime."""

    def __init__(self) -> None:
        super().__init__(
            "unauthorized",
            "The bearer token is missing, unknown, revoked or expired. Send `Authorization: Bearer <token>` with a "
            "runtime's token; an admin makes one.",
        )


def bad_run_id() -> Refusal:
    return Refusal("bad_request", "The run id in the path is no UUID. Send the one that opening the run answered.")


def hashed(token: str) -> bytes:
    """How a token is stored; enough for random ones."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def read(door: Door, *, seq: int | None = None, content_key: str | None = None) -> Scene:
    """Look at a run as its runtime sees it now; raises `UnknownToken`, and nothing else."""
    rows = execute(
        _READ,
        {
            "token": door.token_hash,
            "run": door.run_id,
            "seq": None if seq is None else min(seq, MAX_SEQ),
            "following": None if seq is None else min(seq, MAX_SEQ) + 1,
            "key": content_key,
        },
    )
    if not rows:
        raise UnknownToken
    row = rows[0]
    if row[30]:
        execute(_NOTE_USE, {"token": row[29]})
    head, lease = read_head(row[7:16]), None
    lease_hash = door.lease_hash
    if row[16] is not None:
        is_callers = lease_hash is not None and hmac.compare_digest(row[16], lease_hash)
        lease = Lease(is_callers=is_callers, is_current=row[17], lapses_in_seconds=max(1, row[18]))
    run_id = door.run_id or ""
    claim = None
    if row[26] is not None:
        claim = Claim(run_id, row[26], _event(row[27], row[28]))
        if claim.completion is not None and claim.completion.kind is not events.Kind.TOOL_CALL_COMPLETED:
            claim = Claim(run_id, row[26], None)
    return Scene(
        runtime_id=row[0],
        workspace_id=row[1],
        publication=row[2],
        patience_seconds=row[3],
        lease_ttl_seconds=row[4],
        loaded_publication=row[5],
        run_pk=row[6],
        run_id=run_id,
        head=head,
        lease=lease,
        lease_hash=lease_hash,
        stored_lease_hash=row[16],
        record_prompts=bool(row[19]),
        held_ttl_seconds=row[20] or row[4],
        recorded=_event(row[21], row[22]),
        following=_event(row[23], row[24]),
        intent_revision_id=row[25],
        content_key=content_key,
        claim=claim,
    )


def read_events(run_pk: int, positions: Sequence[int]) -> dict[int, Event]:
    """The events at these positions; what is recorded never changes, so a later look sees the same."""
    rows = execute(_EVENTS, {"run": run_pk, "seqs": [seq for seq in positions if seq < MAX_SEQ]})
    return {seq: events.stored(kind, payload) for seq, kind, payload in rows}


NEVER_BY_ITSELF: Final = 2**31
"""Of Django's own statements none is prepared; ours ask for it."""

HEAD_COLUMNS: Final = (
    "next_seq",
    "state",
    "state_seq",
    "pending_seq",
    "has_open_sleep",
    "is_client_driven",
    "input_tokens",
    "output_tokens",
    "step_count",
)


def read_head(values: Sequence[Any]) -> RunHead:
    """The head in these columns, in the order of `HEAD_COLUMNS`; nulls all through for a run nobody opened."""
    if values[0] is None:
        return RunHead()
    return RunHead(values[0], RunState(values[1]), *values[2:])


def _event(kind: str | None, payload: str | None) -> Event | None:
    return None if kind is None or payload is None else events.stored(kind, payload)


# --- talking to the database -----------------------------------------------------------------------------------------


def execute(statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run one prepared statement over Django's own connection, so that tests roll it back with everything else.

    Not through Django's cursor: it binds on the client and prepares nothing, which costs a fifth (docs/decisions).
    """
    for attempt in (1, 2):
        connection.ensure_connection()
        raw = cast("psycopg.Connection[Any]", connection.connection)
        if raw.prepare_threshold is None:
            # Django switches preparing off; planning these joins anew costs ten times what running them does.
            raw.prepare_threshold = NEVER_BY_ITSELF
        try:
            with psycopg.Cursor(raw) as cursor:
                cursor.execute(statement.encode(), values, prepare=True)
                # Not `description`: it is built anew for every column, which shows.
                return cursor.fetchall() if cursor.pgresult is not None and cursor.pgresult.nfields else []
        except psycopg.OperationalError:
            # A connection that died since the last request is found out here; nothing of ours was under way on it.
            if attempt == 2 or connection.in_atomic_block or not _is_broken(raw) or statement not in _REPEATABLE:
                raise
            connection.close()
        except psycopg.Error:
            if connection.in_atomic_block:
                transaction.set_rollback(True)
            raise
    raise AssertionError


def _is_broken(raw: psycopg.Connection[Any]) -> bool:
    return raw.closed or raw.broken


_READ: Final = """
SELECT rt.id, rt.workspace_id, w.last_publication, w.patience_seconds, rt.lease_ttl_seconds, rt.loaded_publication,
       r.id, r.next_seq, r.state, r.state_seq, r.pending_seq, r.has_open_sleep, r.is_client_driven,
       r.input_tokens, r.output_tokens, r.step_count,
       r.lease_hash,
       r.lease_seen_at + r.lease_ttl_seconds * interval '1 second' > statement_timestamp(),
       ceil(extract(epoch FROM r.lease_seen_at + r.lease_ttl_seconds * interval '1 second'
            - statement_timestamp()))::integer,
       r.record_prompts, r.lease_ttl_seconds,
       e.kind, e.payload, f.kind, f.payload, i.revision_id, c.seq, ce.kind, ce.payload,
       t.id, coalesce(t.last_used_at < statement_timestamp() - interval '1 minute', true)
FROM runtimes_runtimetoken t
JOIN runtimes_runtime rt ON rt.id = t.runtime_id
JOIN people_workspace w ON w.id = rt.workspace_id
LEFT JOIN ledger_run r ON r.workspace_id = rt.workspace_id AND r.run_id = %(run)s::uuid
LEFT JOIN ledger_event e ON e.run_id = r.id AND e.seq = %(seq)s::bigint
LEFT JOIN ledger_event f ON f.run_id = r.id AND f.seq = %(following)s::bigint
LEFT JOIN ledger_intent i ON i.run_id = r.id AND i.seq = %(seq)s::bigint
LEFT JOIN ledger_intent c ON c.run_id = r.id AND c.idempotency_key = %(key)s::text AND c.holds_claim
LEFT JOIN ledger_event ce ON ce.run_id = c.run_id AND ce.seq = c.seq + 1
WHERE t.token_hash = %(token)s::bytea AND t.revoked_at IS NULL AND rt.is_active
  AND (t.expires_at IS NULL OR t.expires_at > statement_timestamp())
"""

_EVENTS: Final = "SELECT seq, kind, payload FROM ledger_event WHERE run_id = %(run)s AND seq = ANY(%(seqs)s::bigint[])"

_TOUCH: Final = """
UPDATE ledger_run SET lease_seen_at = statement_timestamp()
WHERE id = %(run)s AND lease_hash = %(lease)s::bytea
"""

# Noting a use waits for nobody: whoever holds the row writes something more important to it.
_NOTE_USE: Final = """
UPDATE runtimes_runtimetoken SET last_used_at = statement_timestamp()
WHERE id = (SELECT id FROM runtimes_runtimetoken WHERE id = %(token)s FOR NO KEY UPDATE SKIP LOCKED)
"""

_REPEATABLE: Final = frozenset({_READ, _EVENTS, _TOUCH, _NOTE_USE})
