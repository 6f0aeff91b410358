"""Writing to a run: each statement moves the head only if it is still the one that was judged, and writes all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from salvor_admin.domain import canonical
from salvor_admin.domain.events import Event
from salvor_admin.domain.run_state import RunHead
from salvor_admin.ledger.scenes import Scene
from salvor_admin.ledger.statements import Statement, execute, run


@dataclass(frozen=True, slots=True)
class NewCall:
    """What stands beside the log of a call about to be recorded."""

    id: UUID
    revision_id: int
    publication: int
    holds_claim: bool
    waits_after_seconds: int
    likeness: bytes | None
    subject: str


@dataclass(frozen=True, slots=True)
class RefusedReport:
    """A report that was not believed, as it came and as it was read."""

    id: UUID
    body: bytes
    output: str | None
    error: str | None
    code: str
    message: str


def append_events(scene: Scene, new_events: Sequence[Event], head: RunHead) -> bool:
    """Write events and the head after them; False when the run moved on or changed hands since it was read."""
    if len(new_events) == 1 and scene.head.next_seq:
        return _is_written(_APPEND_ONE, _moved(scene, head) | _event("e", scene.head.next_seq, new_events[0]))
    start = new_events[0]
    begins = scene.head.next_seq == 0
    batch = {
        "seqs": list(range(scene.head.next_seq, scene.head.next_seq + len(new_events))),
        "kinds": [event.kind.value for event in new_events],
        "payloads": [event.payload_text() for event in new_events],
        "agent_def_hash": canonical.text(start.payload["agent_def_hash"]) if begins else None,
        "labels": canonical.text(start.payload["labels"]) if begins and start.payload.get("labels") else None,
    }
    return bool(execute(_APPEND_BATCH, _moved(scene, head) | batch))


def open_call(scene: Scene, new_events: Sequence[Event], head: RunHead, call: NewCall) -> bool:
    """Write an intent with what stands beside it, and its copied completion when it has one."""
    intent = new_events[0]
    values = _moved(scene, head) | _event("e", scene.head.next_seq, intent)
    values |= {
        "intent": call.id,
        "workspace": scene.workspace_id,
        "tool": intent.payload["tool"],
        "effect": intent.payload["effect"],
        "key": intent.payload["idempotency_key"],
        "holds_claim": call.holds_claim,
        "revision": call.revision_id,
        "publication": call.publication,
        "patience": call.waits_after_seconds,
        "likeness": call.likeness,
        "subject": call.subject,
    }
    if len(new_events) == 1:
        return _is_written(_OPEN_CALL, values)
    return _is_written(_COPY_CALL, values | _event("f", scene.head.next_seq + 1, new_events[1]))


def close_call(scene: Scene, event: Event, head: RunHead) -> bool:
    """Write the completion that its client reported."""
    values = _moved(scene, head) | _event("e", scene.head.next_seq, event) | {"intent_seq": event.payload["seq"]}
    return _is_written(_CLOSE_CALL, values)


def keep_report(scene: Scene, report: RefusedReport, *, seq: int) -> None:
    """Keep a report that was not believed as evidence; its call waits for a person from now on."""
    execute(
        _KEEP_REPORT,
        {
            "run": scene.run_pk,
            "lease": scene.lease_hash,
            "seq": seq,
            "report": report.id,
            "runtime": scene.runtime_id,
            "body": report.body,
            "output": report.output,
            "error": report.error,
            "code": report.code,
            "message": report.message,
        },
    )


def _is_written(statement: Statement, values: dict[str, Any]) -> bool:
    return bool(run(statement, values))


def _moved(scene: Scene, head: RunHead) -> dict[str, Any]:
    return {
        "run": scene.run_pk,
        "was": scene.head.next_seq,
        "lease": scene.lease_hash,
        "runtime": scene.runtime_id,
        **head_values(head),
    }


def head_values(head: RunHead) -> dict[str, Any]:
    """The head as its columns hold it."""
    return {
        "next_seq": head.next_seq,
        "state": head.state.value,
        "state_seq": head.state_seq,
        "pending_seq": head.pending_seq,
        "has_open_sleep": head.has_open_sleep,
        "is_client_driven": head.is_client_driven,
        "input_tokens": head.input_tokens,
        "output_tokens": head.output_tokens,
        "step_count": head.step_count,
        # Only these stay: an open write is at rest for a stream, but comes and goes with every call.
        "resting_state": None if head.state_seq is None else head.state.value,
    }


def _event(prefix: str, seq: int, event: Event) -> dict[str, Any]:
    return {
        f"{prefix}_seq": seq,
        f"{prefix}_kind": event.kind.value,
        f"{prefix}_payload": event.payload_text(),
    }


# --- statements ------------------------------------------------------------------------------------------------------

_HEAD: Final = """
WITH moved AS (
  UPDATE ledger_run SET next_seq = %(next_seq)s::bigint, state = %(state)s::text, state_seq = %(state_seq)s::bigint,
    pending_seq = %(pending_seq)s::bigint, has_open_sleep = %(has_open_sleep)s::boolean,
    is_client_driven = %(is_client_driven)s::boolean, input_tokens = %(input_tokens)s::bigint,
    output_tokens = %(output_tokens)s::bigint, step_count = %(step_count)s::bigint, resting_state = %(resting_state)s::text,
    first_recorded_at = coalesce(first_recorded_at, statement_timestamp()),
    last_recorded_at = greatest(last_recorded_at, statement_timestamp()),
    lease_seen_at = statement_timestamp(), last_driver_id = %(runtime)s::uuid
"""
_IF_STILL: Final = """
  WHERE id = %(run)s::bigint AND next_seq = %(was)s::bigint AND lease_hash = %(lease)s::bytea
  RETURNING id, last_recorded_at AS at
)
"""
_EVENT: Final = """
, {name} AS (
  INSERT INTO ledger_event (run_id, seq, kind, payload, recorded_at)
  SELECT id, %({prefix}_seq)s::bigint, %({prefix}_kind)s::text, %({prefix}_payload)s::text, at FROM moved
)
"""
_DONE: Final = "SELECT true FROM moved"
#: The event itself as the main part, which costs less than one more look at whether the head moved.
_LAST: Final = """
INSERT INTO ledger_event (run_id, seq, kind, payload, recorded_at)
SELECT id, %(e_seq)s::bigint, %(e_kind)s::text, %(e_payload)s::text, at FROM moved RETURNING true
"""

_MOVED: Final = _HEAD + _IF_STILL
_ONE: Final = _EVENT.format(name="written", prefix="e")
_TWO: Final = _EVENT.format(name="copied", prefix="f")
_INTENT: Final = """
, asked AS (
  INSERT INTO ledger_intent (id, workspace_id, run_id, seq, tool, effect, idempotency_key, holds_claim, revision_id,
    publication, runtime_id, recorded_at, waits_at, listed_at, standing, closed_at, refusals, likeness, subject)
  SELECT %(intent)s::uuid, %(workspace)s::bigint, id, %(e_seq)s::bigint, %(tool)s::text, %(effect)s::text, %(key)s::text,
    %(holds_claim)s::boolean, %(revision)s::bigint, %(publication)s::integer, %(runtime)s::uuid, at,
    at + %(patience)s::integer * interval '1 second', {listed}, {standing}, {closed}, 0,
    %(likeness)s::bytea, %(subject)s::text FROM moved
)
"""

_BEGINNING: Final = """
    , agent_def_hash = coalesce(%(agent_def_hash)s::text, agent_def_hash),
    labels = coalesce(%(labels)s::text, labels)
"""
_BATCH: Final = """
, written AS (
  INSERT INTO ledger_event (run_id, seq, kind, payload, recorded_at)
  SELECT id, e.seq, e.kind, e.payload, at
  FROM moved, unnest(%(seqs)s::bigint[], %(kinds)s::text[], %(payloads)s::text[]) AS e (seq, kind, payload)
)
"""
# That the call is open is the head's to say; asked here, it would tempt the planner into an index of all open calls.
_CLOSED: Final = """
, closed AS (
  UPDATE ledger_intent SET standing = 'completed', closed_at = at, listed_at = coalesce(listed_at, at) FROM moved
  WHERE run_id = moved.id AND seq = %(intent_seq)s::bigint
)
"""
_APPEND_ONE: Final = Statement(_MOVED + _LAST)
_APPEND_BATCH: Final = _HEAD + _BEGINNING + _IF_STILL + _BATCH + _DONE
_OPEN: Final = _INTENT.format(
    standing="'open'", closed="NULL::timestamptz", listed="CASE WHEN %(patience)s::integer = 0 THEN at END"
)
_COPIED: Final = _INTENT.format(standing="'copied'", closed="at", listed="at")
_OPEN_CALL: Final = Statement(_MOVED + _ONE + _OPEN + _DONE)
_COPY_CALL: Final = Statement(_MOVED + _ONE + _TWO + _COPIED + _DONE)
_CLOSE_CALL: Final = Statement(_MOVED + _CLOSED + _LAST)
_KEEP_REPORT: Final = """
WITH seen AS (
  UPDATE ledger_run SET lease_seen_at = statement_timestamp() WHERE id = %(run)s AND lease_hash = %(lease)s::bytea
), noted AS (
  UPDATE ledger_intent SET waits_at = least(waits_at, statement_timestamp()), refusals = refusals + 1,
    listed_at = coalesce(listed_at, statement_timestamp())
  WHERE run_id = %(run)s AND seq = %(seq)s
  RETURNING id
)
INSERT INTO ledger_report (id, intent_id, runtime_id, body, output, error, code, message, received_at)
SELECT %(report)s, id, %(runtime)s, %(body)s, %(output)s, %(error)s, %(code)s, %(message)s, statement_timestamp()
FROM noted
"""
