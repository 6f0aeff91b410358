"""The try-out: what the ledger would say to a sample call and a sample report, with nothing recorded."""

from __future__ import annotations

from dataclasses import dataclass

from salvor_admin.domain import keys, ledger, run_state, strict_json
from salvor_admin.domain.client_tools import ClientTool
from salvor_admin.domain.effects import Effect
from salvor_admin.domain.events import Event, Kind
from salvor_admin.domain.ledger import Failure, ReportRefused, ToolAsk
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.run_state import RunHead
from salvor_admin.domain.strict_json import Json
from salvor_admin.web.statuses import status_of

SAMPLE_RUN = "00000000-0000-4000-8000-000000000000"
_SEQ = 1


@dataclass(frozen=True, slots=True)
class Step:
    """One thing the ledger finds: `tone` is ok, warn or stop; `code` where it would refuse."""

    tone: str
    words: str
    more: str = ""
    code: str = ""
    status: int = 0
    json: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """What was typed: the texts of an input and of a report, which tells an output or a failure."""

    input: str = ""
    report: str = ""
    is_failure: bool = False

    @property
    def is_given(self) -> bool:
        return bool(self.input.strip())


def tried(tool: ClientTool, sample: Sample) -> list[Step]:
    """The ledger's answers, in its order, by the very rules of `/v1`."""
    try:
        asked = _read(sample.input, "sample input")
    except Refusal as refusal:
        return [_refused(refusal)]
    # A run that was opened and holds nothing else, so that only the declaration decides.
    head = run_state.advance(
        RunHead(), Event(Kind.RUN_STARTED, {"agent_def_hash": "", "input": None, "driven_by": "client"})
    )
    try:
        intent = ledger.decide_intent(head, ToolAsk(_SEQ, tool.name, asked), run_id=SAMPLE_RUN, live=tool)
    except Refusal as refusal:
        return [_refused(refusal), Step("stop", "No intent is recorded, so the client must not perform the call.")]
    steps = [Step("ok", "The input fits input_schema and the intent is recorded."), _key(tool, asked)]
    if ledger.is_answered_from_record(tool):
        steps.append(Step("ok", "Asked again in the same run, it is answered from the record and performed once."))
    return [*steps, *_reported(tool, sample, intent.head, intent.new_events[0])]


def _key(tool: ClientTool, asked: Json) -> Step:
    key, text = keys.idempotency_key(tool, run_id=SAMPLE_RUN, seq=_SEQ, input=asked)
    made_of = ", ".join(tool.idempotency_key) or "the position in the run"
    return Step("ok", f"Its key is made from {made_of}, for a sample run:", key, json=text)


def _reported(tool: ClientTool, sample: Sample, head: RunHead, intent: Event) -> list[Step]:
    if not sample.report.strip():
        return [Step("warn", "No completion is given, so the call stays open.", _open(tool))]
    try:
        report = Failure(sample.report.strip()) if sample.is_failure else _read(sample.report, "sample completion")
        decision = ledger.decide_completion(
            head, run_id=SAMPLE_RUN, seq=_SEQ, report=report, intent=intent, tool=tool, live=tool
        )
    except ReportRefused as refusal:
        return [
            _refused(refusal),
            Step("warn", "The report is kept as evidence, and the call stays open.", _open(tool)),
        ]
    except Refusal as refusal:
        return [_refused(refusal)]
    if isinstance(report, Failure):
        return [
            Step("ok", "The failure is believed and closes the call.", "The run goes on with the failure as output.")
        ]
    pins = ", ".join(tool.require_equal)
    words = "The completion fits output_schema" + (f", and {pins} came back as asked." if pins else ".")
    return [
        Step("ok", words),
        Step("ok", "The report is believed and closes the call.", f"{decision.event.kind.value} is recorded next."),
    ]


def _open(tool: ClientTool) -> str:
    if tool.effect is Effect.WRITE:
        return "It is unsettled, and a case waits in the inbox for a person."
    return f"It may be performed again, being {tool.effect.value}; after a while it waits in the inbox too."


def _read(text: str, what: str) -> Json:
    try:
        return strict_json.read(text.encode(), max_depth=strict_json.MAX_VALUE_DEPTH)
    except Refusal as refusal:
        raise Refusal(refusal.code, f"The {what} is no JSON the ledger reads. {refusal.message}") from None


def _refused(refusal: Refusal) -> Step:
    return Step("stop", refusal.message, code=refusal.code, status=status_of(refusal.code))
