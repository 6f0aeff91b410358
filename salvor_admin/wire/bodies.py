"""Reading what `/v1` is sent: each body's known members, in the order an array would give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from salvor_admin.domain import events, run_ids, strict_json
from salvor_admin.domain.client_tools import ABSENT
from salvor_admin.domain.events import Envelope
from salvor_admin.domain.ledger import Failure, ToolAsk
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import MAX_VALUE_DEPTH, Json
from salvor_admin.ledger.services import ModelAsk, ModelReport, ToolReport

Body = TypeVar("Body")


@dataclass(frozen=True, slots=True)
class Opening:
    run_id: str | None
    record_prompts: bool


def or_refusal(read: Callable[[bytes], Body], raw: bytes) -> Body | Refusal:
    """The body, or why there is none: it is told only once the run and its lease have been looked at."""
    try:
        return read(raw)
    except Refusal as refusal:
        return refusal


def opening(raw: bytes) -> Opening:
    members = _members(raw, ("agent", "input", "run_id", "record_prompts"))
    if members.get("agent") is not None:
        events.text(members["agent"], "agent")
    run_id = members.get("run_id")
    if run_id is not None:
        run_id = run_ids.read(events.text(run_id, "run_id"))
        if run_id is None:
            _refuse("run_id", "must be a UUID, or be left out")
    record_prompts = members.get("record_prompts", False)
    if not isinstance(record_prompts, bool):
        _refuse("record_prompts", "must be true or false")
    return Opening(run_id, record_prompts)


def batch(raw: bytes) -> list[Envelope]:
    given = _required(_members(raw, ("events",)), "events")
    if not isinstance(given, list):
        _refuse("events", "must be an array of events")
    return [events.read_envelope(value, f"events/{at}") for at, value in enumerate(given)]


def tool_ask(raw: bytes) -> ToolAsk:
    members = _members(raw, ("seq", "tool", "input"))
    tool = events.text(_required(members, "tool"), "tool")
    return ToolAsk(_seq(members), tool, _value(raw, members, "input"))


def tool_report(raw: bytes) -> ToolReport:
    members = _members(raw, ("seq", "output", "error"))
    seq, output, error = _seq(members), members.get("output"), members.get("error")
    if error is not None:
        failure = _failure(error)
        if output is not None:
            _refuse("error", "and `output` are both given; report one of them")
        return ToolReport(seq, failure, raw)
    if output is None:
        _refuse("output", "is missing (null counts as absent); report an output or an error")
    return ToolReport(seq, _value(raw, members, "output"), raw)


def model_ask(raw: bytes) -> ModelAsk:
    members = _members(raw, ("seq", "request_hash", "request_body"))
    request_hash = events.text(_required(members, "request_hash"), "request_hash")
    body = _value(raw, members, "request_body") if "request_body" in members else ABSENT
    return ModelAsk(_seq(members), request_hash, body)


def model_report(raw: bytes) -> ModelReport:
    members = _members(raw, ("seq", "response", "usage"))
    usage = events.usage(_required(members, "usage"), "usage")
    return ModelReport(_seq(members), _value(raw, members, "response"), usage)


def model_step(raw: bytes) -> int:
    members = _members(raw, ("seq", "request"))
    _required(members, "request")
    return _seq(members)


def tool_step(raw: bytes) -> str:
    """The tool that the server is asked to perform."""
    members = _members(raw, ("seq", "tool", "input", "idempotency_key"))
    _seq(members)
    _required(members, "input")
    if members.get("idempotency_key") is not None:
        events.text(members["idempotency_key"], "idempotency_key")
    return events.text(_required(members, "tool"), "tool")


def resolution(raw: bytes) -> Json:
    """The output a person enters; null is one."""
    return _value(raw, _members(raw, ("output",)), "output")


def abandonment(raw: bytes) -> str | None:
    """Why a run is retired, if that is said; an empty body says nothing."""
    reason = _members(raw, ("reason",)).get("reason") if raw else None
    return None if reason is None else events.text(reason, "reason")


def resumption(raw: bytes) -> None:
    if raw:
        _members(raw, ("input",))


def started_agent(raw: bytes) -> str:
    """The agent that the server is asked to run."""
    members = _members(raw, ("agent", "input", "run_id", "labels"))
    return events.text(_required(members, "agent"), "agent")


def started_graph(raw: bytes) -> str:
    members = _members(raw, ("graph", "input", "run_id", "labels"))
    return events.text(_required(members, "graph"), "graph")


def document(raw: bytes) -> None:
    """Any object: what stands in it is not looked at."""
    _members(raw, ())


# --- members ---------------------------------------------------------------------------------------------------------


def _members(raw: bytes, names: Sequence[str]) -> dict[str, Json]:
    return strict_json.read_members(raw, names, array_order=names)


def _required(members: dict[str, Json], name: str) -> Json:
    if name not in members:
        _refuse(name, "is missing")
    return members[name]


def _seq(members: dict[str, Json]) -> int:
    return events.whole(_required(members, "seq"), "seq")


def _value(raw: bytes, members: dict[str, Json], name: str) -> Json:
    """A free value, shallow enough to be read back once it is an event (contract 7.5)."""
    value = _required(members, name)
    if raw.count(b"[") + raw.count(b"{") > MAX_VALUE_DEPTH and strict_json.depth(value) > MAX_VALUE_DEPTH:
        _refuse(name, f"holds more than {MAX_VALUE_DEPTH} containers inside each other; send a flatter value")
    return value


def _failure(given: Json) -> Failure:
    if isinstance(given, list):
        given = dict(zip(("message", "kind"), given, strict=False)) if len(given) <= 2 else None
    if not isinstance(given, dict):
        _refuse("error", "must be an object with message and, perhaps, kind")
    strict_json.refuse_doubled(given, ("message", "kind"), place="error")
    message = events.text(_required(given, "message"), "error/message")
    kind = given.get("kind")
    return Failure(message, None if kind is None else events.text(kind, "error/kind"))


def _refuse(name: str, why: str) -> NoReturn:
    raise Refusal("bad_request", f"The body cannot be used: `{name}` {why}.", place=name)
