"""What one request on a run is judged by, read in one statement: its token, the run's head and lease, its call."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final
from uuid import UUID

from salvor_admin.domain import events, leases
from salvor_admin.domain.events import Event
from salvor_admin.domain.leases import Lease
from salvor_admin.domain.ledger import Claim
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.run_state import RunHead, RunState
from salvor_admin.ledger.statements import Statement, execute, run

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
    look: Look

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
        run(_TOUCH, {"run": self.run_pk, "lease": self.lease_hash})


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


class Look(Enum):
    """How much of a run a request needs to be judged by; the less is read, the cheaper it is."""

    RUN = "run"
    """The head and the lease."""
    CLAIM = "claim"
    """And the first call with the same content key."""
    CALL = "call"
    """And the event at a position, with the revision its intent was judged by."""
    REPLAY = "replay"
    """And the event after that one."""


def read(door: Door, look: Look = Look.RUN, *, seq: int | None = None, content_key: str | None = None) -> Scene:
    """Look at a run as its runtime sees it now; raises `UnknownToken`, and nothing else."""
    position = None if seq is None else min(seq, MAX_SEQ)
    rows = run(
        _READ[look],
        {
            "token": door.token_hash,
            "run": door.run_id,
            "seq": position,
            "following": None if position is None else position + 1,
            "key": content_key,
        },
    )
    if not rows:
        raise UnknownToken
    row = rows[0]
    if row[3] == b"t":
        run(_NOTE_USE, {"token": int(row[2] or 0)})
    run_id, lease_hash, stored_lease_hash, lease = door.run_id or "", door.lease_hash, None, None
    if row[17] is not None:
        stored_lease_hash = bytes.fromhex(row[17][2:].decode())
        is_callers = lease_hash is not None and hmac.compare_digest(stored_lease_hash, lease_hash)
        lease = Lease(is_callers, row[18] == b"t", max(1, int(row[19] or 0)))
    run_pk = _number(row[8])
    call = row[22:] if look in {Look.CALL, Look.REPLAY} else (None,) * 3
    after = row[25:] if look is Look.REPLAY else (None,) * 2
    return Scene(
        runtime_id=UUID((row[0] or b"").decode()),
        workspace_id=int(row[1] or 0),
        publication=int(row[4] or 0),
        patience_seconds=int(row[5] or 0),
        lease_ttl_seconds=int(row[6] or 0),
        loaded_publication=_number(row[7]),
        run_pk=run_pk,
        run_id=run_id,
        head=_head(row[9:17]) if row[9] is not None else RunHead(),
        lease=lease,
        lease_hash=lease_hash,
        stored_lease_hash=stored_lease_hash,
        record_prompts=row[20] == b"t",
        held_ttl_seconds=int(row[21] or row[6] or 0),
        recorded=_event(call[0], call[1]),
        following=_event(*after),
        intent_revision_id=_number(call[2]),
        content_key=content_key,
        claim=_claim(run_id, run_pk, _number(row[22])) if look is Look.CLAIM else None,
        look=look,
    )


def _head(values: Sequence[bytes | None]) -> RunHead:
    next_seq, state, state_seq, pending_seq, flags, input_tokens, output_tokens, step_count = values
    return RunHead(
        int(next_seq or 0),
        RunState((state or b"").decode()),
        _number(state_seq),
        _number(pending_seq),
        flags in (b"1", b"3"),
        flags in (b"2", b"3"),
        int(input_tokens or 0),
        int(output_tokens or 0),
        int(step_count or 0),
    )


def _claim(run_id: str, run_pk: int | None, seq: int | None) -> Claim | None:
    if seq is None or run_pk is None:
        return None
    # Looked at by itself, since hardly any call is asked twice: what was recorded meanwhile makes the answer newer.
    completion = read_events(run_pk, [seq + 1]).get(seq + 1)
    is_completed = completion is not None and completion.kind is events.Kind.TOOL_CALL_COMPLETED
    return Claim(run_id, seq, completion if is_completed else None)


def _number(value: bytes | None) -> int | None:
    return None if value is None else int(value)


def _event(kind: bytes | None, payload: bytes | None) -> Event | None:
    return None if kind is None or payload is None else events.stored(kind.decode(), payload.decode())


def read_events(run_pk: int, positions: Sequence[int]) -> dict[int, Event]:
    """The events at these positions; what is recorded never changes, so a later look sees the same."""
    rows = execute(_EVENTS, {"run": run_pk, "seqs": [seq for seq in positions if seq < MAX_SEQ]})
    return {seq: events.stored(kind, payload) for seq, kind, payload in rows}


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


# --- statements ------------------------------------------------------------------------------------------------------

_RUN: Final = """
SELECT rt.id, rt.workspace_id, t.id, coalesce(t.last_used_at < statement_timestamp() - interval '1 minute', true),
       w.last_publication, w.patience_seconds, rt.lease_ttl_seconds, rt.loaded_publication,
       r.id, r.next_seq, r.state, r.state_seq, r.pending_seq, r.has_open_sleep::integer + 2 * r.is_client_driven::integer,
       r.input_tokens, r.output_tokens, r.step_count, r.lease_hash,
       r.lease_seen_at + r.lease_ttl_seconds * interval '1 second' > statement_timestamp(),
       ceil(extract(epoch FROM r.lease_seen_at + r.lease_ttl_seconds * interval '1 second'
            - statement_timestamp()))::integer,
       r.record_prompts, r.lease_ttl_seconds
"""
_FROM: Final = """
FROM runtimes_runtimetoken t
JOIN runtimes_runtime rt ON rt.id = t.runtime_id
JOIN people_workspace w ON w.id = rt.workspace_id
LEFT JOIN ledger_run r ON r.workspace_id = rt.workspace_id AND r.run_id = %(run)s::uuid
"""
_WHERE: Final = """
WHERE t.token_hash = %(token)s::bytea AND t.revoked_at IS NULL AND rt.is_active
  AND (t.expires_at IS NULL OR t.expires_at > statement_timestamp())
"""
_CLAIM_COLUMNS: Final = ", c.seq"
_CLAIM_TABLES: Final = """
LEFT JOIN ledger_intent c ON c.run_id = r.id AND c.idempotency_key = %(key)s::text AND c.holds_claim
"""
_CALL_COLUMNS: Final = ", e.kind, e.payload, i.revision_id"
_CALL_TABLES: Final = """
LEFT JOIN ledger_event e ON e.run_id = r.id AND e.seq = %(seq)s::bigint
LEFT JOIN ledger_intent i ON i.run_id = r.id AND i.seq = %(seq)s::bigint
"""
_AFTER_COLUMNS: Final = ", f.kind, f.payload"
_AFTER_TABLES: Final = """
LEFT JOIN ledger_event f ON f.run_id = r.id AND f.seq = %(following)s::bigint
"""


def _reading(columns: str, tables: str) -> Statement:
    return Statement(_RUN + columns + _FROM + tables + _WHERE, repeatable=True)


_READ: Final = {
    Look.RUN: _reading("", ""),
    Look.CLAIM: _reading(_CLAIM_COLUMNS, _CLAIM_TABLES),
    Look.CALL: _reading(_CALL_COLUMNS, _CALL_TABLES),
    Look.REPLAY: _reading(_CALL_COLUMNS + _AFTER_COLUMNS, _CALL_TABLES + _AFTER_TABLES),
}

_EVENTS: Final = "SELECT seq, kind, payload FROM ledger_event WHERE run_id = %(run)s AND seq = ANY(%(seqs)s::bigint[])"

_TOUCH: Final = Statement(
    """
UPDATE ledger_run SET lease_seen_at = statement_timestamp()
WHERE id = %(run)s::bigint AND lease_hash = %(lease)s::bytea
""",
    repeatable=True,
)

# Noting a use waits for nobody: whoever holds the row writes something more important to it.
_NOTE_USE: Final = Statement(
    """
UPDATE runtimes_runtimetoken SET last_used_at = statement_timestamp()
WHERE id = (SELECT id FROM runtimes_runtimetoken WHERE id = %(token)s::bigint FOR NO KEY UPDATE SKIP LOCKED)
""",
    repeatable=True,
)
