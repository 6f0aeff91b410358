"""What a log amounts to: the state of its run, folded one event at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from salvor_admin.domain import instants
from salvor_admin.domain.effects import Effect
from salvor_admin.domain.events import Event, Kind
from salvor_admin.domain.strict_json import Json


class RunState(StrEnum):
    """The states of contract 5."""

    NOT_STARTED = "not_started"
    RUNNING = "running"
    AWAITING_MODEL = "awaiting_model"
    AWAITING_TOOL = "awaiting_tool"
    NEEDS_RECONCILIATION = "needs_reconciliation"
    SUSPENDED = "suspended"
    SLEEPING = "sleeping"
    BUDGET_EXCEEDED = "budget_exceeded"
    COMPLETED = "completed"
    FAILED = "failed"
    ABANDONED = "abandoned"


TERMINAL = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.ABANDONED})
AT_REST = TERMINAL | {
    RunState.SUSPENDED,
    RunState.SLEEPING,
    RunState.BUDGET_EXCEEDED,
    RunState.NEEDS_RECONCILIATION,
}


@dataclass(frozen=True, slots=True)
class RunHead:
    """What must be known of a log to judge the next write, so that no log is read again to append to it."""

    next_seq: int = 0
    state: RunState = RunState.NOT_STARTED
    state_seq: int | None = None
    """The event that says more about the state than its name: a suspension, a sleep, an end."""
    pending_seq: int | None = None
    """The intent without a completion; an abandoned run keeps showing it."""
    has_open_sleep: bool = False
    is_client_driven: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    step_count: int = 0

    @property
    def is_terminal(self) -> bool:
        return self.state in TERMINAL

    @property
    def open_tool_seq(self) -> int | None:
        """The position of the tool intent that the log ends at."""
        if self.state is RunState.AWAITING_TOOL or self.state is RunState.NEEDS_RECONCILIATION:
            return self.pending_seq
        return None

    @property
    def open_model_seq(self) -> int | None:
        """The position of the model intent that the log ends at."""
        return self.pending_seq if self.state is RunState.AWAITING_MODEL else None


_ENDS = {
    Kind.RUN_COMPLETED: RunState.COMPLETED,
    Kind.RUN_FAILED: RunState.FAILED,
    Kind.RUN_ABANDONED: RunState.ABANDONED,
}
_RESTS = {
    Kind.SUSPENDED: RunState.SUSPENDED,
    Kind.SLEEP_STARTED: RunState.SLEEPING,
    Kind.BUDGET_EXCEEDED: RunState.BUDGET_EXCEEDED,
    **_ENDS,
}


def advance(head: RunHead, event: Event) -> RunHead:
    """The head after one more event, which the append guard has let through (contract 5)."""
    seq, kind, payload = head.next_seq, event.kind, event.payload
    then = partial(replace, head, next_seq=seq + 1)
    match kind:
        case Kind.TOOL_CALL_REQUESTED:
            is_write = payload["effect"] == Effect.WRITE
            state = RunState.NEEDS_RECONCILIATION if is_write else RunState.AWAITING_TOOL
            return then(state=state, state_seq=None, pending_seq=seq)
        case Kind.TOOL_CALL_COMPLETED:
            return then(state=RunState.RUNNING, state_seq=None, pending_seq=None)
        case Kind.MODEL_CALL_REQUESTED:
            return then(
                state=RunState.AWAITING_MODEL,
                state_seq=None,
                pending_seq=seq,
                step_count=head.step_count + 1,
            )
        case Kind.MODEL_CALL_COMPLETED:
            return then(
                state=RunState.RUNNING,
                state_seq=None,
                pending_seq=None,
                input_tokens=head.input_tokens + payload["usage"]["input_tokens"],
                output_tokens=head.output_tokens + payload["usage"]["output_tokens"],
            )
        case Kind.RUN_STARTED:
            driven_by_client = payload.get("driven_by") == "client"
            return then(state=RunState.RUNNING, state_seq=None, is_client_driven=driven_by_client)
        case Kind.RESUMED | Kind.GRAPH_RUN_STARTED:
            return then(state=RunState.RUNNING, state_seq=None)
        case Kind.SLEEP_COMPLETED:
            return then(state=RunState.RUNNING, state_seq=None, has_open_sleep=False)
        case Kind.SLEEP_STARTED:
            return then(state=RunState.SLEEPING, state_seq=seq, has_open_sleep=True)
        case _ if kind in _RESTS:
            return then(state=_RESTS[kind], state_seq=seq)
    return then()


def fold(log: Iterable[Event], head: RunHead | None = None) -> RunHead:
    """The head of a whole log."""
    head = head or RunHead()
    for event in log:
        head = advance(head, event)
    return head


def status(state: RunState, said_by: Event | None, now: instants.Instant) -> dict[str, Json]:
    """The status object of contract 5; `said_by` is the event at the head's `state_seq`."""
    members: dict[str, Json] = {"state": state.value}
    if said_by is None:
        return members
    if state is RunState.SLEEPING:
        wake_at = instants.read(said_by.payload["wake_at"])
        if wake_at is None:
            raise ValueError(said_by.payload["wake_at"])
        members["wake_at"] = wake_at.utc_text
        if now.nanoseconds > wake_at.nanoseconds:
            members["overdue"] = True
            members["overdue_seconds"] = (now.nanoseconds - wake_at.nanoseconds) // instants.NANOSECONDS
        return members
    return members | dict(said_by.payload)


def pending(intent: Event | None) -> dict[str, Json] | None:
    """What a run waits for, as readers see it; `intent` is the event at the head's `pending_seq` (contract 5)."""
    if intent is None:
        return None
    if intent.kind is Kind.MODEL_CALL_REQUESTED:
        return {"kind": "model", "seq": intent.payload["seq"], "request_hash": intent.payload["request_hash"]}
    names = ("seq", "tool", "input", "effect", "idempotency_key")
    return {"kind": "tool"} | {name: intent.payload[name] for name in names}
