"""Every write to a run: what its driver sends, and what a person decides about it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal, TypeVar

from django.db.models import Value
from django.db.models.functions import Coalesce, Now

from salvor_admin.domain import append_guard, canonical, keys, leases, ledger, model_calls
from salvor_admin.domain.client_tools import ABSENT, ClientTool
from salvor_admin.domain.events import Envelope, Event, Kind
from salvor_admin.domain.ledger import CallDecision, Failure, IntentAnswer, ReportRefused, ToolAsk
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json
from salvor_admin.ledger import access, appends, declarations, scenes
from salvor_admin.ledger.declarations import LiveTools
from salvor_admin.ledger.models import Event as EventRow
from salvor_admin.ledger.models import Intent, LeaseEnd, Run
from salvor_admin.ledger.scenes import Door, Look, Scene
from salvor_admin.people.access import Actor

ATTEMPTS: Final = 100
"""A write lost to another one is judged again by what that one made of the run; each loss is another's progress."""

Body = TypeVar("Body")
Answer = TypeVar("Answer")


# --- what a driver sends ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolReport:
    """A client's report on its call, and its bytes as they came."""

    seq: int
    report: Json | Failure
    body: bytes


@dataclass(frozen=True, slots=True)
class ModelAsk:
    seq: int
    request_hash: str
    request_body: Json = ABSENT


@dataclass(frozen=True, slots=True)
class ModelReport:
    seq: int
    response: Json
    usage: dict[str, int]


class _Lost(Exception):
    """The run moved on between judging and writing."""


def append_events(door: Door, batch: Sequence[Envelope] | Refusal) -> tuple[int, ...]:
    """Append a batch whole, or refuse it (contract 4); answers the position of every event in it."""

    def judge(scene: Scene, batch: Sequence[Envelope]) -> tuple[int, ...]:
        if scene.run_pk is None:
            raise RuntimeError("a run without a row passed the gate")
        known = [envelope.seq for envelope in batch if envelope.seq < scene.head.next_seq]
        recorded = scenes.read_events(scene.run_pk, known) if known else {}
        decision = append_guard.decide_append(scene.head, run_id=scene.run_id, batch=batch, recorded=recorded)
        if not decision.new_events:
            scene.touch_lease()
        elif not appends.append_events(scene, decision.new_events, decision.head):
            raise _Lost
        return decision.positions

    return _drive(door, batch, judge)


def record_intent(door: Door, ask: ToolAsk | Refusal) -> IntentAnswer:
    """Write down a tool call before it happens, or say what is recorded of it (contract 6.6)."""
    # What this process last saw live: a guess that lets the first look ask for the content key along with the rest.
    guess = declarations.newest_known(_workspace_of.get(door.token_hash))
    look, content_key = Look.CLAIM, None
    if guess is not None and not isinstance(ask, Refusal) and door.run_id is not None:
        content_key = _content_key(guess, ask, door.run_id)

    def judge(scene: Scene, ask: ToolAsk) -> IntentAnswer:
        nonlocal look, content_key, guess
        live = declarations.live_tools(scene.workspace_id, scene.publication)
        _workspace_of[door.token_hash] = scene.workspace_id
        declared = live.by_name.get(ask.tool)
        tool = None if declared is None else declared.tool
        if ask.seq < scene.head.next_seq:
            if scene.look is not Look.REPLAY:
                look, content_key = Look.REPLAY, None
                raise _Lost
            answer = ledger.decide_repeated_intent(
                ask,
                run_id=scene.run_id,
                live=tool,
                recorded=scene.recorded,
                recorded_tool=_tool_of(scene.intent_revision_id),
                following=scene.following,
            )
            scene.touch_lease()
            return answer
        if live is not guess:
            guess, content_key = live, _content_key(live, ask, scene.run_id)
        if scene.look is not Look.CLAIM or content_key != scene.content_key:
            look = Look.CLAIM
            raise _Lost
        decision = ledger.decide_intent(scene.head, ask, run_id=scene.run_id, live=tool, claim=scene.claim)
        if declared is None:
            raise RuntimeError("an intent was let through for a tool that is not live")
        call = appends.NewCall(
            id=uuid.uuid4(),
            revision_id=declared.revision_id,
            publication=live.publication,
            holds_claim=len(decision.new_events) == 1 and ledger.is_answered_from_record(declared.tool),
            waits_after_seconds=scene.patience_seconds if declared.tool.trust_completion else 0,
            likeness=declarations.likeness(declared.tool, ask.input),
            subject=declarations.subject(declared.tool, ask.input),
        )
        if not appends.open_call(scene, decision.new_events, decision.head, call):
            raise _Lost
        return decision.answer

    return _drive(door, ask, judge, look=lambda ask: (look, ask.seq, content_key))


def record_completion(door: Door, report: ToolReport | Refusal) -> None:
    """Believe a client's report and close its call, or keep it as evidence and refuse it (contract 6.7)."""

    def judge(scene: Scene, given: ToolReport) -> None:
        intent = scene.recorded if given.seq < scene.head.next_seq else None
        name = intent.payload["tool"] if intent is not None and intent.kind is Kind.TOOL_CALL_REQUESTED else None
        live = declarations.live_tools(scene.workspace_id, scene.publication).by_name.get(name or "")
        try:
            decision = ledger.decide_completion(
                scene.head,
                run_id=scene.run_id,
                seq=given.seq,
                report=given.report,
                intent=intent,
                tool=_tool_of(scene.intent_revision_id),
                live=None if live is None else live.tool,
            )
        except ReportRefused as refusal:
            _keep_report(scene, given, refusal)
            raise
        if not appends.close_call(scene, decision.event, decision.head):
            raise _Lost

    return _drive(door, report, judge, look=lambda given: (Look.CALL, given.seq, None))


def record_model_intent(door: Door, ask: ModelAsk | Refusal) -> Event | None:
    """Write down a model call before it happens; answers its completion when it is recorded (contract 6.8)."""

    def judge(scene: Scene, ask: ModelAsk) -> Event | None:
        is_recorded = ask.seq < scene.head.next_seq
        decision = model_calls.decide_model_intent(
            scene.head,
            seq=ask.seq,
            request_hash=ask.request_hash,
            request_body=ask.request_body if scene.record_prompts else ABSENT,
            recorded=scene.recorded if is_recorded else None,
            following=scene.following,
        )
        if not decision.new_events:
            scene.touch_lease()
        elif not appends.append_events(scene, decision.new_events, decision.head):
            raise _Lost
        return decision.completion

    return _drive(door, ask, judge, look=lambda ask: (Look.REPLAY, ask.seq, None))


def record_model_completion(door: Door, report: ModelReport | Refusal) -> None:
    """Record what the client says its model answered (contract 6.8)."""

    def judge(scene: Scene, given: ModelReport) -> None:
        decision = model_calls.decide_model_completion(
            scene.head,
            seq=given.seq,
            response=given.response,
            usage=given.usage,
            intent=scene.recorded if given.seq < scene.head.next_seq else None,
        )
        if not appends.append_events(scene, (decision.event,), decision.head):
            raise _Lost

    return _drive(door, report, judge, look=lambda given: (Look.CALL, given.seq, None))


def refuse_model_step(door: Door, seq: int | Refusal) -> None:
    """A request that the server call a model is refused, by its position first (contract 6.9)."""

    def judge(scene: Scene, seq: int) -> None:
        recorded = scene.recorded if seq < scene.head.next_seq else None
        raise model_calls.decide_model_step(scene.head, seq=seq, recorded=recorded)

    return _drive(door, seq, judge, look=lambda seq: (Look.CALL, seq, None))


def refuse_driving(door: Door, refusal: Refusal) -> None:
    """Show the driver in, refresh its lease, and refuse what it asked."""

    def judge(scene: Scene, body: None) -> None:
        raise refusal

    return _drive(door, None, judge)


def show_in(door: Door, workspace_id: int) -> None:
    """The lease gate for somebody whose bearer token is a person's: the drive token alone is looked at."""
    if door.refusal is not None:
        raise door.refusal
    if door.run_id is None:
        raise scenes.bad_run_id()
    lease = access.lease(workspace_id, door.run_id, door.lease_hash)
    leases.decide_gate(lease, run_id=door.run_id, presented=door.drive_token)
    Run.objects.filter(workspace_id=workspace_id, run_id=door.run_id, lease_hash=door.lease_hash).update(
        lease_seen_at=Now()
    )


def _drive(
    door: Door,
    body: Body | Refusal,
    judge: Callable[[Scene, Body], Answer],
    *,
    look: Callable[[Body], tuple[Look, int | None, str | None]] = lambda body: (Look.RUN, None, None),
) -> Answer:
    for _ in range(ATTEMPTS):
        wanted, seq, content_key = (Look.RUN, None, None) if isinstance(body, Refusal) else look(body)
        scene = scenes.read(door, wanted, seq=seq, content_key=content_key)
        scene.pass_gate(door)
        try:
            if isinstance(body, Refusal):
                raise body
            return judge(scene, body)
        except _Lost:
            continue
        except ReportRefused:
            raise
        except Refusal:
            scene.touch_lease()
            raise
    raise Refusal("divergence", "Others keep writing to this run. Read its log and go on from its end.")


# Whose token was seen last for which workspace.
_workspace_of: dict[bytes, int] = {}


def _content_key(live: LiveTools, ask: ToolAsk, run_id: str) -> str | None:
    """The key that the same content would have had before in this run; None when it is never answered from there."""
    declared = live.by_name.get(ask.tool)
    if declared is None or not ledger.is_answered_from_record(declared.tool):
        return None
    try:
        return keys.idempotency_key(declared.tool, run_id=run_id, seq=ask.seq, input=ask.input)[0]
    except Refusal:
        return None


def _tool_of(revision_id: int | None) -> ClientTool | None:
    return None if revision_id is None else declarations.tool_of(revision_id)


def _keep_report(scene: Scene, given: ToolReport, refusal: ReportRefused) -> None:
    is_error = isinstance(given.report, Failure)
    said = {"kind": given.report.kind, "message": given.report.message} if isinstance(given.report, Failure) else None
    report = appends.RefusedReport(
        id=uuid.uuid4(),
        body=given.body,
        output=None if is_error else canonical.text(given.report),
        error=canonical.text(said) if is_error else None,
        code=refusal.code,
        message=refusal.message.replace("\0", "\\u0000"),
    )
    appends.keep_report(scene, report, seq=given.seq)


# --- what a person decides -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClosedCall:
    """What was appended to a run by a person's decision."""

    run: Run
    seq: int
    recorded_at: datetime
    payload: dict[str, Json]
    """Of the event: a settlement's `output`, an abandonment's `unresolved_write`."""
    judged_by_id: int | None = None
    """The revision that held the output."""


def append_settlement(
    *,
    intent_id: uuid.UUID,
    answer: Json | Failure,
    settler: Actor,
    at: datetime,
    judge_by: Literal["intent", "live"] = "intent",
    only_writes: bool = False,
    keeps_lease: bool = False,
) -> ClosedCall:
    """Append what a person says became of an open call and drop the run's lease (contract 6.13).

    Runs inside the caller's transaction, which has asked for the settler's right and the case's claim.
    """
    run = access.run_of_call(settler.workspace_id, intent_id)
    intent = Intent.objects.select_related("revision").get(pk=intent_id)
    if run.head.open_tool_seq != intent.seq:
        raise Refusal(
            "wrong_state", f"The call is {intent.standing}; nothing was changed. Reload to see what was recorded."
        )
    tool, revision_id = _judging(intent, judge_by)
    decision = ledger.decide_settlement(
        run.head,
        run_id=str(run.run_id),
        intent=run.event_at(intent.seq),
        tool=tool,
        answer=answer,
        only_writes=only_writes,
    )
    closed = _append(run, decision, at=at)
    _close_intent(run, "settled", closed.recorded_at)
    if not keeps_lease:
        _drop_lease(run, "dropped", at)
    return replace(closed, judged_by_id=None if isinstance(answer, Failure) else revision_id)


def append_abandonment(*, run: Run, reason: str | None, settler: Actor | None, at: datetime) -> ClosedCall:
    """Retire a run that the caller's transaction has locked; the lease is not touched (contract 6.14)."""
    intent = None if run.pending_seq is None else run.event_at(run.pending_seq)
    decision = ledger.decide_abandonment(run.head, run_id=str(run.run_id), reason=reason, intent=intent)
    closed = _append(run, decision, at=at)
    _close_intent(run, "abandoned", closed.recorded_at)
    return closed


def is_driven(run: Run, *, now: datetime) -> bool:
    """Whether somebody holds the run now: its lease was shown within its time to live, and it has not ended."""
    if run.lease_seen_at is None or run.lease_hash is None or run.head.is_terminal:
        return False
    return run.lease_seen_at + timedelta(seconds=run.lease_ttl_seconds or 0) > now


def _judging(intent: Intent, judge_by: Literal["intent", "live"]) -> tuple[ClientTool | None, int | None]:
    if judge_by == "intent":
        return declarations.tool_of(intent.revision_id), intent.revision_id
    declared = declarations.live_declaration(intent.workspace_id, intent.tool)
    return (None, None) if declared is None else (declared.tool, declared.revision_id)


def _append(run: Run, decision: CallDecision, *, at: datetime) -> ClosedCall:
    seq, recorded_at = run.next_seq, max(at, run.last_recorded_at or at)
    EventRow.objects.create(
        run=run,
        seq=seq,
        kind=decision.event.kind.value,
        payload=decision.event.payload_text(),
        recorded_at=recorded_at,
    )
    values = appends.head_values(decision.head) | {"last_recorded_at": recorded_at}
    for column, value in values.items():
        setattr(run, column, value)
    run.save(update_fields=list(values))
    return ClosedCall(run, seq, recorded_at, decision.event.payload)


def _close_intent(run: Run, standing: str, at: datetime) -> None:
    Intent.objects.filter(run=run, standing="open").update(
        standing=standing, closed_at=at, listed_at=Coalesce("listed_at", Value(at))
    )


def _drop_lease(run: Run, how: str, at: datetime) -> None:
    if run.lease_hash is None or run.lease_seen_at is None:
        return
    LeaseEnd.objects.create(
        run=run, runtime_id=run.last_driver_id, how=how, seen_at=run.lease_seen_at, ended_at=max(at, run.lease_seen_at)
    )
    run.lease_hash = None
    run.save(update_fields=["lease_hash"])


# --- sweeps ----------------------------------------------------------------------------------------------------------

SWEEP_BATCH: Final = 500


def surface_silent_calls(*, at: datetime) -> int:
    """Calls whose driver fell silent wait from now on instead of after the workspace's patience; how many there were."""
    moved = 0
    for workspace_id in access.workspaces_with_silent_calls(at):
        silent = access.silent_calls(workspace_id, at)[:SWEEP_BATCH]
        moved += Intent.objects.filter(pk__in=list(silent), standing="open", waits_at__gt=at).update(waits_at=at)
    return moved


def list_waiting_calls(*, at: datetime) -> int:
    """Calls that have begun to wait are put where search finds them; how many there were."""
    listed = 0
    while True:
        due = Intent.objects.filter(standing="open", listed_at__isnull=True, waits_at__lte=at)
        batch = list(due.order_by("waits_at").values_list("pk", flat=True)[:SWEEP_BATCH])
        listed += Intent.objects.filter(pk__in=batch, listed_at__isnull=True).update(listed_at=at)
        if len(batch) < SWEEP_BATCH:
            return listed
