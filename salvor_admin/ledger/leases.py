"""Opening runs, holding them and handing them back. Leases live in the database and are judged by its clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from salvor_admin.domain import leases
from salvor_admin.domain.leases import Opening
from salvor_admin.domain.refusals import Refusal
from salvor_admin.ledger import scenes
from salvor_admin.ledger.scenes import Door, Scene
from salvor_admin.ledger.services import ATTEMPTS
from salvor_admin.ledger.statements import execute


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A run that the caller now drives, under this token."""

    run_pk: int
    run_id: str
    drive_token: str
    is_new: bool
    next_seq: int


def open_run(door: Door, *, fresh_token: str, record_prompts: bool | Refusal) -> OpenedRun:
    """Open a run or take one up again (contract 6.1); `fresh_token` becomes its token unless the caller's holds."""
    for _ in range(ATTEMPTS):
        scene = scenes.read(door)
        if door.refusal is not None:
            raise door.refusal
        if isinstance(record_prompts, Refusal):
            raise record_prompts
        scene.pass_door(door)
        opening = leases.decide_open(scene.head, scene.lease, run_id=scene.run_id)
        if opening is Opening.KEPT:
            scene.touch_lease()
            return _opened(scene, scene.run_pk, door.drive_token or "", opening)
        run_pk = _take(scene, fresh_token, record_prompts)
        if run_pk is not None:
            return _opened(scene, run_pk, fresh_token, opening)
    raise Refusal("lease_held", f"Others keep opening run {door.run_id}. Wait a moment and open it again.")


def release_run(door: Door) -> bool:
    """Hand a run back (contract 6.2); False when nobody held it."""
    for _ in range(ATTEMPTS):
        scene = scenes.read(door)
        scene.pass_door(door)
        if not leases.decide_release(scene.lease, run_id=scene.run_id):
            return False
        if execute(_RELEASE, {"run": scene.run_pk, "lease": scene.lease_hash}):
            return True
    return False


def prolong_lease(door: Door) -> int:
    """The driver is still there (contract 6.3); answers after how many seconds of silence the hold lapses."""
    scene = scenes.read(door)
    scene.pass_gate(door)
    scene.touch_lease()
    return scene.held_ttl_seconds


def _opened(scene: Scene, run_pk: int | None, token: str, opening: Opening) -> OpenedRun:
    if run_pk is None:
        raise RuntimeError("a run was opened without a row")
    return OpenedRun(run_pk, scene.run_id, token, opening is Opening.CREATED, scene.head.next_seq)


def _take(scene: Scene, fresh_token: str, record_prompts: bool) -> int | None:
    values: dict[str, Any] = {
        "run": scene.run_pk,
        "workspace": scene.workspace_id,
        "run_id": scene.run_id,
        "runtime": scene.runtime_id,
        "lease": scenes.hashed(fresh_token),
        "ttl": scene.lease_ttl_seconds,
        "record_prompts": record_prompts,
        "was": scene.head.next_seq,
        "held": scene.stored_lease_hash,
        "ended": scene.head.is_terminal,
        "how": "dropped" if scene.lease is not None and scene.lease.is_current else "lapsed",
    }
    rows = execute(_CREATE if scene.run_pk is None else _TAKE, values)
    return rows[0][0] if rows else None


_CREATE: Final = """
INSERT INTO ledger_run (workspace_id, run_id, opened_at, opened_by_id, next_seq, state, has_open_sleep,
  is_client_driven, input_tokens, output_tokens, step_count, lease_hash, lease_seen_at, lease_ttl_seconds,
  record_prompts, last_driver_id)
VALUES (%(workspace)s, %(run_id)s::uuid, statement_timestamp(), %(runtime)s, 0, 'not_started', false, false, 0, 0, 0,
  %(lease)s::bytea, statement_timestamp(), %(ttl)s, %(record_prompts)s, %(runtime)s)
ON CONFLICT DO NOTHING
RETURNING id
"""

# Whoever shows a lapsed token in time keeps the run: the lapse is judged again here, where it is acted on.
_TAKE: Final = """
WITH held AS (
  SELECT id, lease_hash, lease_seen_at, last_driver_id FROM ledger_run WHERE id = %(run)s
), taken AS (
  UPDATE ledger_run SET lease_hash = %(lease)s::bytea, lease_seen_at = statement_timestamp(),
    lease_ttl_seconds = %(ttl)s, record_prompts = %(record_prompts)s, last_driver_id = %(runtime)s
  WHERE id = %(run)s AND next_seq = %(was)s AND lease_hash IS NOT DISTINCT FROM %(held)s::bytea
    AND (lease_hash IS NULL OR %(ended)s
         OR lease_seen_at + lease_ttl_seconds * interval '1 second' <= statement_timestamp())
  RETURNING id
), told AS (
  INSERT INTO ledger_leaseend (run_id, runtime_id, how, seen_at, ended_at)
  SELECT held.id, held.last_driver_id, %(how)s, held.lease_seen_at,
    greatest(statement_timestamp(), held.lease_seen_at)
  FROM held JOIN taken ON taken.id = held.id WHERE held.lease_hash IS NOT NULL
)
SELECT id FROM taken
"""

_RELEASE: Final = """
WITH released AS (
  UPDATE ledger_run SET lease_hash = NULL WHERE id = %(run)s AND lease_hash = %(lease)s::bytea
  RETURNING id, last_driver_id, lease_seen_at
), told AS (
  INSERT INTO ledger_leaseend (run_id, runtime_id, how, seen_at, ended_at)
  SELECT id, last_driver_id, 'released', lease_seen_at, greatest(statement_timestamp(), lease_seen_at) FROM released
)
SELECT id FROM released
"""
