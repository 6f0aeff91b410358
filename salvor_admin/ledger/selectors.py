"""Every read of runs that the wire, pages and serializers need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from salvor_admin.domain import events, instants, ledger, run_state
from salvor_admin.domain.events import Event
from salvor_admin.domain.run_state import RunHead, RunState
from salvor_admin.domain.strict_json import Json
from salvor_admin.ledger.scenes import HEAD_COLUMNS, MAX_SEQ, read_head
from salvor_admin.ledger.statements import execute

CHUNK: Final = 200
"""How many rows a stream holds in memory at once."""

ACTIVE: Final = frozenset(
    {RunState.RUNNING, RunState.AWAITING_MODEL, RunState.AWAITING_TOOL, RunState.NEEDS_RECONCILIATION}
)


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as readers see it at one moment, computed from its head and at most two of its events."""

    pk: int
    run_id: str
    head: RunHead
    first_recorded_at: datetime
    last_recorded_at: datetime
    agent_def_hash: str | None
    """Canonical JSON text, as `labels`."""
    labels: str | None
    is_attached: bool
    has_lease: bool
    now: datetime
    said_by: Event | None
    intent: Event | None

    @property
    def status(self) -> dict[str, Json]:
        return run_state.status(self.head.state, self.said_by, instants.from_datetime(self.now))

    @property
    def pending(self) -> dict[str, Json] | None:
        return run_state.pending(self.intent)

    @property
    def driver(self) -> str | None:
        """Whether somebody holds the run; not told of a run that has ended."""
        if self.head.is_terminal:
            return None
        return "attached" if self.is_attached else "none"


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """One event as it is stored: its payload is canonical text."""

    seq: int
    kind: str
    payload: str
    recorded_at: datetime

    def as_domain(self) -> Event:
        return events.stored(self.kind, self.payload)


def run(workspace_id: int, run_id: str) -> RunView:
    """A run with at least one event, or `unknown_run`."""
    rows = execute(_DETAIL, {"workspace": workspace_id, "run_id": run_id})
    if not rows:
        raise ledger.unknown_run(run_id)
    return _view(rows[0])


def runs(
    workspace_id: int, *, state: RunState | None = None, after: str | None = None, limit: int | None = None
) -> Iterator[RunView]:
    """A workspace's runs by the time of their first event, then id; read chunk by chunk, so memory stays flat.

    `after` is the id of the last run seen.
    """
    last = None if after is None else _place(workspace_id, after)
    left = limit
    is_active = None if state is None else state in ACTIVE
    while left is None or left > 0:
        wanted = CHUNK if left is None else min(CHUNK, left)
        values = {
            "workspace": workspace_id,
            "state": None if state is None else state.value,
            "after_at": last[0] if last else None,
            "after_id": last[1] if last else None,
            "limit": wanted,
        }
        rows = execute(_LISTS[is_active, last is not None], values)
        yield from map(_view, rows)
        if len(rows) < wanted:
            return
        final = _view(rows[-1])
        last = (final.first_recorded_at, final.run_id)
        left = None if left is None else left - len(rows)


def log(run_pk: int, *, from_seq: int = 0, until: int | None = None) -> Iterator[RecordedEvent]:
    """A run's events from a position on, in order, read chunk by chunk; `until` is the first one left out."""
    position = min(from_seq, MAX_SEQ)
    end = MAX_SEQ + 1 if until is None else until
    while position < end:
        rows = execute(_LOG, {"run": run_pk, "from": position, "until": end, "limit": CHUNK})
        for row in rows:
            yield RecordedEvent(*row)
        if len(rows) < CHUNK:
            return
        position = rows[-1][0] + 1


def readable_log(workspace_id: int, run_id: str) -> int | None:
    """The row of a run whose log a client may read: it holds a lease or has events (contract 6.4)."""
    rows = execute(_READABLE, {"workspace": workspace_id, "run_id": run_id})
    return rows[0][0] if rows else None


def has_lease(workspace_id: int, run_id: str) -> bool:
    """Whether the run is open somewhere, current or lapsed."""
    return bool(execute(_HAS_LEASE, {"workspace": workspace_id, "run_id": run_id}))


def _place(workspace_id: int, run_id: str) -> tuple[datetime, str]:
    found = run(workspace_id, run_id)
    return found.first_recorded_at, found.run_id


def _view(row: tuple[Any, ...]) -> RunView:
    columns = len(HEAD_COLUMNS)
    pk, run_id = row[0], str(row[1])
    rest = row[2 + columns :]
    return RunView(
        pk=pk,
        run_id=run_id,
        head=read_head(row[2 : 2 + columns]),
        first_recorded_at=rest[0],
        last_recorded_at=rest[1],
        agent_def_hash=rest[2],
        labels=rest[3],
        is_attached=bool(rest[4]),
        has_lease=rest[5],
        now=rest[6],
        said_by=None if rest[7] is None else events.stored(rest[7], rest[8]),
        intent=None if rest[9] is None else events.stored(rest[9], rest[10]),
    )


# --- statements ------------------------------------------------------------------------------------------------------

_VIEW: Final = """
SELECT r.id, r.run_id, r.next_seq, r.state, r.state_seq, r.pending_seq, r.has_open_sleep, r.is_client_driven,
       r.input_tokens, r.output_tokens, r.step_count,
       r.first_recorded_at, r.last_recorded_at, r.agent_def_hash, r.labels,
       r.lease_hash IS NOT NULL
         AND r.lease_seen_at + r.lease_ttl_seconds * interval '1 second' > statement_timestamp(),
       r.lease_hash IS NOT NULL, statement_timestamp(), s.kind, s.payload, p.kind, p.payload
"""
_OWN_EVENTS: Final = """
LEFT JOIN ledger_event s ON s.run_id = r.id AND s.seq = r.state_seq
LEFT JOIN ledger_event p ON p.run_id = r.id AND p.seq = r.pending_seq
"""
_DETAIL: Final = (
    _VIEW
    + "FROM ledger_run r"
    + _OWN_EVENTS
    + "WHERE r.workspace_id = %(workspace)s AND r.run_id = %(run_id)s::uuid AND r.next_seq > 0"
)
_PAGE: Final = """
FROM (
  SELECT * FROM ledger_run
  WHERE workspace_id = %(workspace)s AND first_recorded_at IS NOT NULL {state} {after}
  ORDER BY first_recorded_at, run_id LIMIT %(limit)s
) r
"""
_ORDER: Final = "ORDER BY r.first_recorded_at, r.run_id"


_STATES: Final = {
    None: "",
    True: "AND resting_state IS NULL AND state = %(state)s",
    False: "AND resting_state = %(state)s",
}
_AFTER: Final = "AND (first_recorded_at, run_id) > (%(after_at)s::timestamptz, %(after_id)s::uuid)"

# One statement a case: a condition that may be absent would keep the index from being entered where the page begins.
_LISTS: Final = {
    (state, is_continued): "".join(
        (_VIEW, _PAGE.format(state=_STATES[state], after=_AFTER if is_continued else ""), _OWN_EVENTS, _ORDER)
    )
    for state in _STATES
    for is_continued in (False, True)
}
_LOG: Final = """
SELECT seq, kind, payload, recorded_at FROM ledger_event
WHERE run_id = %(run)s AND seq >= %(from)s AND seq < %(until)s ORDER BY seq LIMIT %(limit)s
"""
_READABLE: Final = """
SELECT id FROM ledger_run
WHERE workspace_id = %(workspace)s AND run_id = %(run_id)s::uuid AND (lease_hash IS NOT NULL OR is_client_driven)
"""
_HAS_LEASE: Final = """
SELECT 1 FROM ledger_run WHERE workspace_id = %(workspace)s AND run_id = %(run_id)s::uuid AND lease_hash IS NOT NULL
"""
