"""One run as its page shows it: the log in order, what stands beside it, who held it, and its state at any position."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from salvor_admin.domain import canonical, events, instants, run_state
from salvor_admin.domain.events import Kind
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.run_state import RunState
from salvor_admin.domain.sentinels import is_failure
from salvor_admin.domain.strict_json import Json
from salvor_admin.ledger import selectors as ledger
from salvor_admin.ledger.models import Intent, LeaseEnd, Report, Run
from salvor_admin.ledger.selectors import RecordedEvent, RunView
from salvor_admin.people.access import Actor
from salvor_admin.settlement import selectors
from salvor_admin.settlement.models import Claim
from salvor_admin.settlement.selectors import CallRow

EVENTS_SHOWN: Final = 100
CALLS_SHOWN: Final = 100
BESIDE_SHOWN: Final = 100
SHOWS: Final = ("all", "events", "tools", "beside")
FOLDED_AT_MOST: Final = 20_000

_LOOK: Final[dict[str, tuple[str, str]]] = {
    Kind.TOOL_CALL_REQUESTED.value: ("catalogue", ""),
    Kind.TOOL_CALL_COMPLETED.value: ("check", "ok"),
    Kind.MODEL_CALL_REQUESTED.value: ("agent", ""),
    Kind.MODEL_CALL_COMPLETED.value: ("check", "ok"),
    Kind.RUN_FAILED.value: ("stop", "stop"),
    Kind.RUN_ABANDONED.value: ("stop", "quiet"),
    Kind.RUN_COMPLETED.value: ("check", "ok"),
    Kind.SUSPENDED.value: ("held", "calm"),
    Kind.SLEEP_STARTED.value: ("hourglass", "calm"),
    Kind.BUDGET_EXCEEDED.value: ("warn", "warn"),
}
_STATE_LOOK: Final[dict[RunState, tuple[str, str]]] = {
    RunState.NEEDS_RECONCILIATION: ("warn", "unknown"),
    RunState.COMPLETED: ("ok", "check"),
    RunState.FAILED: ("stop", "stop"),
    RunState.ABANDONED: ("quiet", "stop"),
    RunState.BUDGET_EXCEEDED: ("warn", "warn"),
    RunState.SUSPENDED: ("calm", "held"),
    RunState.SLEEPING: ("calm", "hourglass"),
}


@dataclass(frozen=True, slots=True)
class LogItem:
    """One event of the log, or (without `seq`) something that happened beside it."""

    at: datetime
    icon: str
    tone: str
    title: str
    seq: int | None = None
    performer: str = ""
    tool: str = ""
    effect: str = ""
    note: str = ""
    free: str = ""
    """Canonical text of the value that somebody else wrote: an input, an output, a response."""
    free_name: str = ""
    writer: str = ""
    envelope: str = ""
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Folded:
    """The state of a run as of a position, and how the wire says it."""

    as_of: int
    state: RunState
    tone: str
    icon: str
    pending: dict[str, Json] | None
    next_seq: int
    wire: str


@dataclass(frozen=True, slots=True)
class RunPage:
    """Everything of one page of a run."""

    view: RunView
    run: Run
    items: list[LogItem]
    calls: list[CallRow]
    lease_ends: list[LeaseEnd]
    labels: list[tuple[str, str]]
    tone: str
    icon: str
    folded: Folded | None
    before: int | None
    after: int | None


def run_page(
    actor: Actor, run_id: str, *, show: str = "all", start: int | None = None, as_of: int | None = None, now: datetime
) -> RunPage:
    """A run of the actor's workspace, its log from a position on; raises `unknown_run`."""
    view = ledger.run(actor.workspace_id, run_id)
    run = Run.objects.select_related("last_driver", "opened_by").get(pk=view.pk)
    begin = max(0, view.head.next_seq - EVENTS_SHOWN) if start is None else start
    end = min(begin + EVENTS_SHOWN, view.head.next_seq)
    log = list(ledger.log(view.pk, from_seq=begin, until=end)) if show != "beside" else []
    intents = list(
        Intent.objects.filter(run=run)
        .select_related("run__last_driver", "runtime", "revision__document", "case")
        .order_by("-seq")[:CALLS_SHOWN]
    )
    rows = selectors.rows_of(actor, intents[::-1], now=now)
    lease_ends = list(LeaseEnd.objects.filter(run=run).select_related("runtime").order_by("-ended_at", "-pk")[:20])
    items = [_event_item(recorded, run, rows) for recorded in log]
    if show == "tools":
        items = [item for item in items if item.tool or item.title == Kind.TOOL_CALL_COMPLETED.value]
    if show in {"all", "beside"}:
        since = None if show == "beside" or begin == 0 else (log[0].recorded_at if log else None)
        until = None if show == "beside" or end == view.head.next_seq else (log[-1].recorded_at if log else None)
        beside = [item for item in _beside(run, lease_ends) if _within(item.at, since, until)]
        items = sorted([*items, *beside], key=lambda item: item.at)
    tone, icon = _STATE_LOOK.get(view.head.state, ("calm", "runtime"))
    return RunPage(
        view=view,
        run=run,
        items=items,
        calls=rows,
        lease_ends=lease_ends,
        labels=sorted(json.loads(view.labels).items()) if view.labels else [],
        tone=tone,
        icon=icon,
        folded=_fold(view, as_of) if as_of is not None else None,
        before=max(0, begin - EVENTS_SHOWN) if begin > 0 else None,
        after=end if end < view.head.next_seq else None,
    )


def _within(at: datetime, since: datetime | None, until: datetime | None) -> bool:
    return (since is None or at >= since) and (until is None or at <= until)


def _event_item(recorded: RecordedEvent, run: Run, rows: list[CallRow]) -> LogItem:
    payload: dict[str, Any] = recorded.as_domain().payload
    icon, tone = _LOOK.get(recorded.kind, ("note", ""))
    free_name = next((name for name in ("input", "output", "response", "error", "reason") if name in payload), "")
    performer = "operator" if payload.get("settled_by") else payload.get("performed_by", "")
    writer = f"{run.last_driver.name if run.last_driver else 'the client'}"
    call = next((row for row in rows if row.intent.seq == recorded.seq), None)
    return LogItem(
        at=recorded.recorded_at,
        icon="hourglass" if call is not None and call.is_open else icon,
        tone="calm" if call is not None and call.is_open else tone,
        title=recorded.kind,
        seq=recorded.seq,
        performer=str(performer),
        tool=str(payload.get("tool", "")),
        effect=str(payload.get("effect", "")),
        note=_note(recorded.kind, payload),
        free=canonical.text(payload[free_name]) if free_name else "",
        free_name=free_name,
        writer="a person" if performer == "operator" else writer,
        envelope=_envelope(run, recorded),
        call_id=str(call.intent.pk) if call is not None else "",
    )


def _note(kind: str, payload: dict[str, Any]) -> str:
    if kind == Kind.TOOL_CALL_COMPLETED.value:
        words = f"for seq {payload['seq']}"
        if "deduplicated_from" in payload:
            words += f"; copied from seq {payload['deduplicated_from']['seq'] + 1}, nothing was performed"
        if payload.get("settled_by"):
            words += "; settled by a person"
        return words + ("; a failure" if is_failure(payload["output"]) else "")
    if kind == Kind.MODEL_CALL_COMPLETED.value:
        usage = payload["usage"]
        return f"{usage['input_tokens']} tokens in, {usage['output_tokens']} out"
    if kind == Kind.MODEL_CALL_REQUESTED.value:
        return "" if "request_body" in payload else "the prompt was not recorded"
    if kind == Kind.SLEEP_STARTED.value:
        return f"until {payload['wake_at']}"
    if kind == Kind.RUN_ABANDONED.value and "unresolved_write" in payload:
        return f"the write at seq {payload['unresolved_write']['seq']} stays unresolved"
    return ""


def _envelope(run: Run, recorded: RecordedEvent) -> str:
    at = instants.from_datetime(recorded.recorded_at).utc_text
    event = events.stored(recorded.kind, recorded.payload).ordered_payload_text()
    return (
        f'{{"run_id":"{run.run_id}","seq":{recorded.seq},"schema_version":{events.SCHEMA_VERSION},'
        f'"recorded_at":"{at}","event":{{"kind":"{recorded.kind}","payload":{event}}}}}'
    )


def _beside(run: Run, lease_ends: list[LeaseEnd]) -> list[LogItem]:
    items = [LogItem(run.opened_at, "lock", "", f"Opened by {run.opened_by.name}")]
    for end in lease_ends:
        name = end.runtime.name if end.runtime else "a driver"
        words = {
            "released": f"Handed back by {name}",
            "lapsed": f"Lease of {name} had lapsed, and the run was taken up again",
            "dropped": f"Lease of {name} dropped by a person's answer",
        }[end.how]
        items.append(LogItem(end.ended_at, "hourglass", "warn" if end.how == "lapsed" else "", words))
    reports = Report.objects.filter(intent__run=run).select_related("intent").order_by("-received_at")[:BESIDE_SHOWN]
    items += [
        LogItem(
            report.received_at,
            "stop",
            "stop",
            f"Report refused: {report.code}",
            note=report.message,
            call_id=str(report.intent_id),
        )
        for report in reports
    ]
    claims = Claim.objects.filter(case__intent__run=run).select_related("person", "case").order_by("-claimed_at")
    items += [
        LogItem(
            claim.claimed_at,
            "lock",
            "",
            f"Case {claim.case.number} claimed by {claim.person.name}",
            call_id=str(claim.case.intent_id),
        )
        for claim in claims[:BESIDE_SHOWN]
    ]
    return items


def _fold(view: RunView, as_of: int) -> Folded:
    if as_of >= view.head.next_seq:
        raise Refusal(
            "bad_request",
            f"The log ends at seq {view.head.next_seq - 1}; give a position up to that.",
            place="as_of",
        )
    if as_of >= FOLDED_AT_MOST:
        raise Refusal(
            "bad_request", f"A page folds up to seq {FOLDED_AT_MOST}; read longer logs through /v1.", place="as_of"
        )
    head = run_state.RunHead()
    log = {}
    for recorded in ledger.log(view.pk, until=as_of + 1):
        event = recorded.as_domain()
        log[recorded.seq] = event
        head = run_state.advance(head, event)
    said_by = log.get(head.state_seq) if head.state_seq is not None else None
    intent = log.get(head.pending_seq) if head.pending_seq is not None else None
    status = run_state.status(head.state, said_by, instants.from_datetime(view.now))
    wire = {
        "next_seq": head.next_seq,
        "pending": run_state.pending(intent),
        "status": status,
        "usage": {"input_tokens": head.input_tokens, "output_tokens": head.output_tokens},
    }
    tone, icon = _STATE_LOOK.get(head.state, ("calm", "runtime"))
    return Folded(as_of, head.state, tone, icon, run_state.pending(intent), head.next_seq, canonical.text(wire))
