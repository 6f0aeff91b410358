"""What becomes of a tool call: its intent, the client's report, a person's settlement, the end of its run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from salvor_admin.domain import append_guard, canonical, events, keys, run_state, schemas, sentinels
from salvor_admin.domain.client_tools import ABSENT, ClientTool
from salvor_admin.domain.effects import Effect
from salvor_admin.domain.events import Event, Kind
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.run_state import RunHead, RunState
from salvor_admin.domain.strict_json import Json

MAX_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class ToolAsk:
    """What a client wants to do, as it says so."""

    seq: int
    tool: str
    input: Json


@dataclass(frozen=True, slots=True)
class Claim:
    """The first call in this run with the same content key."""

    run_id: str
    seq: int
    completion: Event | None


@dataclass(frozen=True, slots=True)
class IntentAnswer:
    seq: int
    idempotency_key: str
    effect: Effect
    output: Json = ABSENT
    """Present once settled, null included."""

    @property
    def is_settled(self) -> bool:
        return self.output is not ABSENT


@dataclass(frozen=True, slots=True)
class IntentDecision:
    """The answer, and what must be written first: nothing, the intent, or the intent and a copied completion."""

    answer: IntentAnswer
    new_events: tuple[Event, ...]
    head: RunHead


@dataclass(frozen=True, slots=True)
class Failure:
    message: str
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class CallDecision:
    """The one event that closes a call or a run, and the head after it."""

    event: Event
    head: RunHead


class ReportRefused(Refusal):
    """A report about the open call was not believed: kept as evidence, and the call waits for a person."""


# --- intents ---------------------------------------------------------------------------------------------------------


def decide_intent(
    head: RunHead, ask: ToolAsk, *, run_id: str, live: ClientTool | None, claim: Claim | None = None
) -> IntentDecision:
    """Judge a new intent by the declaration that is live (contract 6.6); `claim` is the same content's first call."""
    intent = _intended(live, ask, run_id)
    append_guard.check_next(head, intent, seq=ask.seq)
    if claim is None:
        head = run_state.advance(head, intent)
        return IntentDecision(_answer(intent), (intent,), head)
    if claim.completion is None:
        raise Refusal(
            "divergence",
            f"The same call is open at position {claim.seq} of run {claim.run_id}. Finish that one; nothing was "
            "recorded here.",
        )
    output = claim.completion.payload["output"]
    origin = {"run_id": claim.run_id, "seq": claim.seq}
    copied = Event(Kind.TOOL_CALL_COMPLETED, {"seq": ask.seq, "output": output, "deduplicated_from": origin})
    head = run_state.fold((intent, copied), head)
    return IntentDecision(_answer(intent, output), (intent, copied), head)


def decide_repeated_intent(
    ask: ToolAsk,
    *,
    run_id: str,
    live: ClientTool | None,
    recorded: Event | None,
    recorded_tool: ClientTool | None,
    following: Event | None,
) -> IntentAnswer:
    """Answer an intent at a recorded position from the record, or refuse another one there (contract 6.6 step 4).

    `recorded` and `following` are the events there and after it. The same tool is judged by `recorded_tool`, the
    declaration that the recorded one was judged by, so that history replays whatever was published since.
    """
    if recorded is None:
        raise ValueError("nothing is recorded at this position")
    is_same_tool = recorded.kind is Kind.TOOL_CALL_REQUESTED and recorded.payload["tool"] == ask.tool
    tool = recorded_tool if is_same_tool else live
    return _repeated(_intended(tool, ask, run_id), recorded, following)


def is_answered_from_record(tool: ClientTool) -> bool:
    """Whether the same content asked twice in a run is one call (contract 6.6 step 6)."""
    return bool(tool.idempotency_key) and tool.effect is not Effect.READ


def _intended(tool: ClientTool | None, ask: ToolAsk, run_id: str) -> Event:
    if tool is None:
        raise Refusal(
            "unknown_tool",
            f"No client tool `{_cut(ask.tool)}` is live here. Tools are declared by operators (`salvor serve "
            "--client-tool`, here a published revision), never over HTTP; ask for it to be published.",
        )
    violation = schemas.violation(tool.input_schema, ask.input)
    if violation is not None:
        raise Refusal(
            "bad_request",
            f"The input does not fit the input_schema of tool `{tool.name}`: {_cut(violation.text)}. Send one that does.",
            place="input",
        )
    key, _ = keys.idempotency_key(tool, run_id=run_id, seq=ask.seq, input=ask.input)
    return Event(
        Kind.TOOL_CALL_REQUESTED,
        {
            "seq": ask.seq,
            "tool": ask.tool,
            "input": ask.input,
            "effect": tool.effect.value,
            "idempotency_key": key,
            "performed_by": "client",
        },
    )


def _repeated(intent: Event, recorded: Event, following: Event | None) -> IntentAnswer:
    if not events.is_same(intent, recorded):
        raise Refusal(
            "divergence",
            f"Position {intent.payload['seq']} holds another event ({recorded.kind.value}). Read the log; what is "
            "recorded stays.",
        )
    if following is None or following.kind is not Kind.TOOL_CALL_COMPLETED:
        return _answer(recorded)
    return _answer(recorded, following.payload["output"])


def _answer(intent: Event, output: Json = ABSENT) -> IntentAnswer:
    payload = intent.payload
    return IntentAnswer(payload["seq"], payload["idempotency_key"], Effect(payload["effect"]), output)


# --- the client's report ---------------------------------------------------------------------------------------------


def decide_completion(
    head: RunHead,
    *,
    run_id: str,
    seq: int,
    report: Json | Failure,
    intent: Event | None,
    tool: ClientTool | None,
    live: ClientTool | None,
) -> CallDecision:
    """Judge a client's report (contract 6.7).

    `intent` is the event at `seq`. `tool`, the revision named on the intent, judges shape and pins; trust must stand
    in it and in the `live` one, so that it can be withdrawn at once and a published change breaks no call in flight.
    """
    if intent is None or head.open_tool_seq != seq:
        raise Refusal(
            "divergence",
            f"Position {seq} is not an open tool call at the log's end. Post its intent again to see what is "
            "recorded there.",
        )
    name = intent.payload["tool"]
    if intent.payload.get("performed_by") != "client":
        raise ReportRefused("client_completion_refused", f"The call of `{name}` is not the client's to report.")
    if live is None or tool is None:
        raise ReportRefused(
            "unknown_tool",
            f"Client tool `{name}` is no longer live (--client-tool), so reports about it are not believed. "
            "A person settles the call from the inbox.",
        )
    inbox = f"A person settles it from the inbox, with POST /v1/runs/{run_id}/resolve or with `salvor resolve`."
    if not (tool.trust_completion and live.trust_completion):
        when = "now" if tool.trust_completion else "by the revision it was asked under"
        raise ReportRefused(
            "client_completion_refused",
            f"Tool `{name}` is declared trust_completion = false {when}: its client's word does not close the call. "
            + inbox,
        )
    if isinstance(report, Failure):
        return _closed(head, seq, _failed(report))
    if tool.output_schema is ABSENT:
        raise ReportRefused(
            "client_completion_refused",
            f"Tool `{name}` declares no output_schema, so a result cannot be checked. " + inbox,
        )
    violation = _output_violation(tool, report)
    if violation is not None:
        raise ReportRefused("bad_request", violation, place="output")
    difference = _pin_difference(tool, intent.payload["input"], report)
    if difference is not None:
        raise ReportRefused("client_completion_refused", f"{difference} {inbox}", place="output")
    return _closed(head, seq, report)


def _failed(failure: Failure) -> Json:
    kind = "handler" if failure.kind is None else failure.kind
    if kind not in sentinels.FAILURE_KINDS:
        raise ReportRefused(
            "bad_request",
            f"`{_cut(kind)}` is no kind of failure; send one of {', '.join(sentinels.FAILURE_KINDS)}.",
            place="error/kind",
        )
    return sentinels.failure(failure.message, kind)


def _closed(head: RunHead, seq: int, output: Json, **more: Json) -> CallDecision:
    event = Event(Kind.TOOL_CALL_COMPLETED, {"seq": seq, "output": output, **more})
    append_guard.check_next(head, event, seq=head.next_seq)
    return CallDecision(event, run_state.advance(head, event))


def _output_violation(tool: ClientTool, output: Json) -> str | None:
    if tool.output_schema is ABSENT:
        return None
    violation = schemas.violation(tool.output_schema, output)
    if violation is None:
        return None
    return (
        f"The output does not fit the output_schema of tool `{tool.name}`: {_cut(violation.text)}. Send one that does."
    )


def _pin_difference(tool: ClientTool, input: Json, output: Json) -> str | None:
    """The first pinned field whose value came back otherwise (contract 6.7 step 9)."""
    for field in tool.require_equal:
        asked, answered = _member(input, field), _member(output, field)
        if not canonical.equal(asked, answered):
            return (
                f"The require_equal field `{field}` of tool `{tool.name}` must come back as it was asked: the intent "
                f"says {_cut(canonical.text(asked))}, the output says {_cut(canonical.text(answered))}."
            )
    return None


def _member(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, dict) else None


# --- a person's answer -----------------------------------------------------------------------------------------------


def decide_settlement(
    head: RunHead,
    *,
    run_id: str,
    intent: Event | None,
    tool: ClientTool | None,
    answer: Json | Failure,
    only_writes: bool = True,
) -> CallDecision:
    """Judge what a person says became of the open call (contract 6.13).

    An output is held to `tool`'s output schema and pins, whoever trusts the client; a failure is not. `/v1` settles
    writes only; pages and `/api` settle every effect, since nobody else may close an untrusted read.
    """
    if head.next_seq == 0:
        raise unknown_run(run_id)
    is_open = intent is not None and head.open_tool_seq is not None
    if is_open and intent is not None and not isinstance(answer, Failure):
        if tool is None:
            raise Refusal(
                "bad_request",
                f"No declaration of client tool `{intent.payload['tool']}` is live (--client-tool), so nothing can "
                "hold the output. Judge it by the revision it was asked under.",
            )
        violation = _output_violation(tool, answer) or _pin_difference(tool, intent.payload["input"], answer)
        if violation is not None:
            raise Refusal("bad_request", violation, place="output")
    if intent is None or not is_open or (only_writes and head.state is not RunState.NEEDS_RECONCILIATION):
        raise Refusal("wrong_state", _why_not_settled(head, run_id, intent))
    output = _settled_failure(answer) if isinstance(answer, Failure) else answer
    return _closed(head, intent.payload["seq"], output, settled_by="operator")


def _settled_failure(failure: Failure) -> Json:
    try:
        return _failed(failure)
    except ReportRefused as refusal:
        raise Refusal(refusal.code, refusal.message, place=refusal.place) from None


def _why_not_settled(head: RunHead, run_id: str, intent: Event | None) -> str:
    if head.open_model_seq is not None or head.open_tool_seq is not None:
        what = "model" if head.open_model_seq is not None or intent is None else f"`{intent.payload['tool']}`"
        return (
            f"Run {run_id} waits for its {what} call, which may be repeated: its driver performs it again on its next "
            "drive, so there is nothing to settle by hand."
        )
    return f"Run {run_id} is {head.state.value}: no write waits for a person. Read it again to see what was recorded."


def decide_abandonment(head: RunHead, *, run_id: str, reason: str | None, intent: Event | None) -> CallDecision:
    """Retire a run for good (contract 6.14); a write that was open is named, its outcome stays unknown."""
    if head.next_seq == 0:
        raise unknown_run(run_id)
    if head.is_terminal:
        raise Refusal("wrong_state", f"Run {run_id} is already {head.state.value}; nothing was changed.")
    payload: dict[str, Json] = {} if reason is None else {"reason": reason}
    if head.state is RunState.NEEDS_RECONCILIATION and intent is not None:
        payload["unresolved_write"] = {"seq": intent.payload["seq"], "tool": intent.payload["tool"]}
    event = Event(Kind.RUN_ABANDONED, payload)
    append_guard.check_next(head, event, seq=head.next_seq)
    return CallDecision(event, run_state.advance(head, event))


def refuse_runtime(head: RunHead, *, run_id: str, verb: str) -> None:
    """A runtime's own token settles nothing, and abandons no run with an open write: the agent would be the judge."""
    if verb == "resolve" or head.state is RunState.NEEDS_RECONCILIATION:
        raise runtime_refusal(run_id, verb)


def runtime_refusal(run_id: str, verb: str) -> Refusal:
    """What a runtime is told that tries to decide."""
    return Refusal(
        "client_completion_refused",
        f"A runtime's token may not {verb} run {run_id}: what became of a write is for a person to say. "
        "The call waits in the inbox; a settler answers it there, or here with a personal token.",
    )


def unknown_run(run_id: str) -> Refusal:
    """What readers are told of a run that has no events, or that is none of theirs."""
    return Refusal(
        "unknown_run", f"No run {run_id} is known here. Check the id, and that its first event was appended."
    )


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}… ({len(text)} characters)"
