"""Which event may stand next in a log, and how a batch of plain events is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from salvor_admin.domain import events, run_state
from salvor_admin.domain.events import CALL_KINDS, GRAPH_KINDS, Envelope, Event, Kind
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.run_state import RunHead

MAX_BATCH = 1024

_HEADS = frozenset({Kind.RUN_STARTED, Kind.GRAPH_RUN_STARTED})
_COMPLETES = {Kind.TOOL_CALL_COMPLETED: "open_tool_seq", Kind.MODEL_CALL_COMPLETED: "open_model_seq"}


@dataclass(frozen=True, slots=True)
class AppendDecision:
    """What a batch amounts to: every position it names, the events to write after the last one, the new head."""

    positions: tuple[int, ...]
    new_events: tuple[Event, ...]
    head: RunHead


def check_next(head: RunHead, event: Event, *, seq: int, schema_version: int = events.SCHEMA_VERSION) -> None:
    """Refuses what may not stand next in the log (contract 4, rules 5 and 7 to 11)."""
    kind = event.kind
    if kind is Kind.SLEEP_COMPLETED and not head.has_open_sleep:
        _diverge(f"No sleep is open, so {kind.value} has nothing to close. Append SleepStarted first, or leave it out.")
    if schema_version != events.SCHEMA_VERSION:
        _diverge(
            f"The event says schema_version {schema_version}; this log is written in version {events.SCHEMA_VERSION}. "
            f"Send version {events.SCHEMA_VERSION}."
        )
    if seq != head.next_seq:
        _diverge(
            f"Position {seq} is not the next one: the log has {head.next_seq} events, so {head.next_seq} comes next. "
            "Read the log and go on from there."
        )
    if head.next_seq == 0:
        if kind not in _HEADS:
            _diverge(f"A log begins with RunStarted, not with {kind.value}. Append RunStarted at position 0 first.")
        return
    if kind in _HEADS:
        _diverge(f"The log has begun already, so {kind.value} cannot follow. Read the log and go on from its end.")
    if head.is_terminal:
        _diverge(f"The run is {head.state.value} and nothing may follow. Open another run for more work.")
    _check_calls(head, event, seq)


def _check_calls(head: RunHead, event: Event, seq: int) -> None:
    kind = event.kind
    completes = _COMPLETES.get(kind)
    if completes is not None:
        if getattr(head, completes) is None or getattr(head, completes) != event.payload["seq"]:
            _diverge(f"{kind.value} names no call that is open at the log's end. Read the log to see what is.")
        return
    open_seq = head.open_tool_seq if head.open_tool_seq is not None else head.open_model_seq
    if open_seq is not None and kind is not Kind.RUN_ABANDONED:
        _diverge(
            f"The call at position {open_seq} is still open, so {kind.value} cannot follow. "
            "Report its completion first, or have a person settle it."
        )
    if kind in CALL_KINDS and event.payload["seq"] != seq:
        _diverge(f"The intent names position {event.payload['seq']} but would stand at {seq}. Send the same in both.")


def decide_append(
    head: RunHead, *, run_id: str, batch: Sequence[Envelope], recorded: Mapping[int, Event]
) -> AppendDecision:
    """Judge a batch whole (contract 4): the first fault refuses all of it, a recorded event sent again is a no-op.

    `recorded` holds the event at every position of the batch that the log already has.
    """
    if len(batch) > MAX_BATCH:
        raise Refusal(
            "payload_too_large",
            f"The batch holds {len(batch)} events and may hold at most {MAX_BATCH}. Send it in parts.",
        )
    positions: list[int] = []
    new_events: list[Event] = []
    start = head.next_seq
    for envelope in batch:
        if envelope.run_id != run_id:
            _diverge(f"An event names run {envelope.run_id} but was sent to run {run_id}. Send it to its own run.")
        event = _admitted(envelope.event)
        if envelope.seq < head.next_seq:
            there = recorded[envelope.seq] if envelope.seq < start else new_events[envelope.seq - start]
            if envelope.schema_version != events.SCHEMA_VERSION or not events.is_same(there, event):
                _diverge(
                    f"Position {envelope.seq} holds another event ({there.kind.value}). "
                    "Read the log; what is recorded stays."
                )
        else:
            check_next(head, event, seq=envelope.seq, schema_version=envelope.schema_version)
            if event.kind is Kind.RUN_ABANDONED and head.pending_seq is not None:
                _diverge(
                    f"The call at position {head.pending_seq} is still open, so its driver cannot abandon the run. "
                    "Report its completion first, or have a person settle or abandon it."
                )
            if event.kind in GRAPH_KINDS:
                raise Refusal(
                    "unsupported_event_kind",
                    f"{event.kind.value} belongs to graph runs, which are not driven here. Append plain run events.",
                )
            head = run_state.advance(head, event)
            new_events.append(event)
        positions.append(envelope.seq)
    return AppendDecision(tuple(positions), tuple(new_events), head)


def _admitted(event: Event) -> Event:
    if event.kind in CALL_KINDS:
        raise Refusal(
            "unsupported_event_kind",
            f"{event.kind.value} is not taken by the plain append. Post calls to the client-tool and client-model "
            "endpoints, which check them.",
        )
    if event.kind is Kind.RUN_STARTED:
        fault = events.label_fault(event.payload.get("labels", {}))
        if fault is not None:
            raise Refusal("bad_request", f"The labels cannot be kept: {fault}. Shorten them or send fewer.")
        return Event(event.kind, event.payload | {"driven_by": "client"})
    return event


def _diverge(message: str) -> NoReturn:
    raise Refusal("divergence", message)
