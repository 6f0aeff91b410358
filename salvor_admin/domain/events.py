"""The events of a run's log: their kinds, what each one carries, and how an envelope is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

from salvor_admin.domain import canonical, instants, run_ids
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json, refuse_doubled

SCHEMA_VERSION = 1
MAX_LABELS = 16
MAX_LABEL_KEY_BYTES = 64
MAX_LABEL_VALUE_BYTES = 256

_U32 = 2**32 - 1
_U64 = 2**64 - 1


class Kind(StrEnum):
    """Every kind an event can have (contract 3.2)."""

    RUN_STARTED = "RunStarted"
    MODEL_CALL_REQUESTED = "ModelCallRequested"
    MODEL_CALL_COMPLETED = "ModelCallCompleted"
    TOOL_CALL_REQUESTED = "ToolCallRequested"
    TOOL_CALL_COMPLETED = "ToolCallCompleted"
    NOW_OBSERVED = "NowObserved"
    RANDOM_OBSERVED = "RandomObserved"
    SUSPENDED = "Suspended"
    RESUMED = "Resumed"
    SLEEP_STARTED = "SleepStarted"
    SLEEP_COMPLETED = "SleepCompleted"
    BUDGET_EXCEEDED = "BudgetExceeded"
    RUN_COMPLETED = "RunCompleted"
    RUN_FAILED = "RunFailed"
    RUN_ABANDONED = "RunAbandoned"
    GRAPH_RUN_STARTED = "GraphRunStarted"
    NODE_ENTERED = "NodeEntered"
    NODE_EXITED = "NodeExited"
    NODE_SKIPPED = "NodeSkipped"
    BRANCH_TAKEN = "BranchTaken"
    MAP_FANNED_OUT = "MapFannedOut"
    MAP_ITERATION_STARTED = "MapIterationStarted"
    MAP_ITERATION_JOINED = "MapIterationJoined"
    FOLD_ITERATION_STARTED = "FoldIterationStarted"
    FOLD_ITERATION_JOINED = "FoldIterationJoined"
    FOLD_CONVERGED = "FoldConverged"


CALL_KINDS = frozenset(
    {Kind.MODEL_CALL_REQUESTED, Kind.MODEL_CALL_COMPLETED, Kind.TOOL_CALL_REQUESTED, Kind.TOOL_CALL_COMPLETED}
)
GRAPH_KINDS = frozenset(list(Kind)[list(Kind).index(Kind.GRAPH_RUN_STARTED) :])


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its kind and the members it carries, absent ones left out, instants as they are written."""

    kind: Kind
    payload: dict[str, Json]

    def payload_text(self) -> str:
        """The payload's canonical text, as it is stored."""
        return canonical.text(self.payload)

    def ordered_payload_text(self) -> str:
        """The payload with its members in the order of contract 3.2, as a stream sends them."""
        members = (
            f'"{field.name}":{canonical.text(self.payload[field.name])}'
            for field in _FIELDS[self.kind]
            if field.name in self.payload
        )
        return "{" + ",".join(members) + "}"


@dataclass(frozen=True, slots=True)
class Envelope:
    """An event as a client sends it: for which run, at which position."""

    run_id: str
    seq: int
    schema_version: int
    event: Event


def is_same(one: Event, other: Event) -> bool:
    """Whether two events are one and the same: free values as contract 7.5 says, instants as moments."""
    if one.kind is not other.kind or one.payload.keys() != other.payload.keys():
        return False
    for field in _FIELDS[one.kind]:
        if field.name not in one.payload:
            continue
        mine, theirs = one.payload[field.name], other.payload[field.name]
        if field.read is _instant or field.read is _wake_instant:
            if _moment(mine) != _moment(theirs):
                return False
        elif not canonical.equal(mine, theirs):
            return False
    return True


def stored(kind: str, payload_text: str) -> Event:
    """Read back a stored event."""
    return Event(Kind(kind), json.loads(payload_text))


def label_fault(labels: Mapping[str, str]) -> str | None:
    """Which bound of contract 4 rule 12 the labels break, or None; the count is looked at first."""
    if len(labels) > MAX_LABELS:
        return f"there are {len(labels)} labels and at most {MAX_LABELS} may be given"
    for key, value in labels.items():
        if len(key.encode()) > MAX_LABEL_KEY_BYTES:
            return f"a label's key has {len(key.encode())} bytes and may have at most {MAX_LABEL_KEY_BYTES}"
        if len(value.encode()) > MAX_LABEL_VALUE_BYTES:
            return f"the label `{key}` has {len(value.encode())} bytes and may have at most {MAX_LABEL_VALUE_BYTES}"
    return None


# --- reading ---------------------------------------------------------------------------------------------------------

Reader = Callable[[Any, str], Any]


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    read: Reader
    may_be_absent: bool = False
    """Null counts as absent, and an absent one is left out."""


_ENVELOPE = ("run_id", "seq", "schema_version", "recorded_at", "event")
_EVENT = ("kind", "payload")


def read_envelope(value: Json, place: str = "") -> Envelope:
    """Read one envelope as it was sent (contract 3.1); a malformed one is a `bad_request`."""
    members = _members(value, _ENVELOPE, place)
    seq = whole(members["seq"], f"{place}/seq", _U64)
    schema_version = whole(members["schema_version"], f"{place}/schema_version", _U32)
    _instant(members["recorded_at"], f"{place}/recorded_at")
    return Envelope(
        _run_id(members["run_id"], f"{place}/run_id"), seq, schema_version, _event(members["event"], f"{place}/event")
    )


def whole(value: Json, place: str, most: int = _U64) -> int:
    """A non-negative integer literal up to `most`."""
    if type(value) is not int or not 0 <= value <= most:
        _refuse(place, f"must be a whole number from 0 to {most}, written without sign, fraction or exponent")
    return value


def text(value: Json, place: str) -> str:
    if type(value) is not str:
        _refuse(place, "must be a string")
    return value


def usage(value: Json, place: str) -> dict[str, int]:
    """The token counts of one model call; other members are dropped."""
    members = _object(value, ("input_tokens", "output_tokens"), place)
    return {name: whole(members[name], f"{place}/{name}", _U32) for name in ("input_tokens", "output_tokens")}


def _event(value: Json, place: str) -> Event:
    members = _members(value, _EVENT, place)
    try:
        kind = Kind(text(members["kind"], f"{place}/kind"))
    except ValueError:
        _refuse(f"{place}/kind", "names no kind of event that is known here")
    payload = members["payload"]
    if not isinstance(payload, dict):
        _refuse(f"{place}/payload", "must be an object")
    return Event(kind, _payload(kind, payload, f"{place}/payload"))


def _payload(kind: Kind, given: Mapping[str, Json], place: str) -> dict[str, Json]:
    fields = _FIELDS[kind]
    refuse_doubled(given, [field.name for field in fields], place=place)
    payload: dict[str, Json] = {}
    for field in fields:
        value = given.get(field.name)
        if value is None:
            if field.may_be_absent:
                continue
            if field.read is _text_or_null:
                payload[field.name] = None
                continue
            if field.name not in given:
                _refuse(f"{place}/{field.name}", f"is missing; {kind.value} needs it")
        payload[field.name] = field.read(value, f"{place}/{field.name}")
    return payload


def _members(value: Json, names: Sequence[str], place: str) -> Mapping[str, Json]:
    """The members of an object, or of an array that gives them in their order (contract 7.5)."""
    if isinstance(value, list):
        if len(value) != len(names):
            _refuse(place, f"is an array of {len(value)}; it must be an object with {', '.join(names)}")
        return dict(zip(names, value, strict=True))
    return _object(value, names, place)


def _object(value: Json, names: Sequence[str], place: str) -> Mapping[str, Json]:
    if not isinstance(value, dict):
        _refuse(place, f"must be an object with {', '.join(names)}")
    refuse_doubled(value, names, place=place)
    for name in names:
        if name not in value:
            _refuse(f"{place}/{name}", "is missing")
    return value


def _run_id(value: Json, place: str) -> str:
    read = run_ids.read(text(value, place))
    if read is None:
        _refuse(place, "must be a UUID")
    return read


def _free(value: Json, place: str) -> Json:
    return value


def _text_or_null(value: Json, place: str) -> str | None:
    return None if value is None else text(value, place)


def _seq(value: Json, place: str) -> int:
    return whole(value, place)


def _number(value: Json, place: str) -> float:
    if type(value) not in (int, float):
        _refuse(place, "must be a number")
    return float(value)


def _instant(value: Json, place: str) -> str:
    return _read_instant(value, place).text


def _wake_instant(value: Json, place: str) -> str:
    instant = _read_instant(value, place)
    if not instant.has_utc_text:
        _refuse(place, "leaves the years 0 to 9999 in UTC, so it could not be read back; name a nearer instant")
    return instant.text


def _read_instant(value: Json, place: str) -> instants.Instant:
    instant = instants.read(text(value, place))
    if instant is None:
        _refuse(place, "must be an RFC 3339 instant with seconds and an offset, such as 2026-03-04T10:15:30Z")
    return instant


def _moment(written: str) -> int:
    instant = instants.read(written)
    if instant is None:
        raise ValueError(written)
    return instant.nanoseconds


def _labels(value: Json, place: str) -> dict[str, str]:
    if not isinstance(value, dict):
        _refuse(place, "must be an object of strings")
    return {key: text(label, f"{place}/{key}") for key, label in value.items()}


def _one_of(*words: str) -> Reader:
    def read(value: Json, place: str) -> str:
        if value not in words:
            _refuse(place, f"must be one of {', '.join(words)}")
        return str(value)

    return read


def _budget(value: Json, place: str) -> dict[str, Json]:
    members = _object(value, ("kind", "limit"), place)
    kind = _one_of("tokens", "cost_usd", "wall_time", "steps")(members["kind"], f"{place}/kind")
    return {"kind": kind, "limit": _number(members["limit"], f"{place}/limit")}


def _origin(value: Json, place: str) -> dict[str, Json]:
    members = _object(value, ("run_id", "seq"), place)
    return {
        "run_id": _run_id(members["run_id"], f"{place}/run_id"),
        "seq": whole(members["seq"], f"{place}/seq"),
    }


def _write(value: Json, place: str) -> dict[str, Json]:
    members = _object(value, ("seq", "tool"), place)
    return {"seq": whole(members["seq"], f"{place}/seq"), "tool": text(members["tool"], f"{place}/tool")}


def _refuse(place: str, why: str) -> NoReturn:
    raise Refusal("bad_request", f"The body cannot be used: `{place or '/'}` {why}.", place=place)


_driver = _one_of("client", "server")
_index = _Field("index", _seq)
_node = _Field("node", text)
_performed_by = _Field("performed_by", _driver, may_be_absent=True)

_FIELDS: Mapping[Kind, tuple[_Field, ...]] = {
    Kind.RUN_STARTED: (
        _Field("agent_def_hash", text),
        _Field("input", _free),
        _Field("labels", _labels, may_be_absent=True),
        _Field("driven_by", _driver, may_be_absent=True),
    ),
    Kind.MODEL_CALL_REQUESTED: (
        _Field("seq", _seq),
        _Field("request_hash", text),
        _Field("request_body", _free, may_be_absent=True),
        _performed_by,
    ),
    Kind.MODEL_CALL_COMPLETED: (_Field("seq", _seq), _Field("response", _free), _Field("usage", usage)),
    Kind.TOOL_CALL_REQUESTED: (
        _Field("seq", _seq),
        _Field("tool", text),
        _Field("input", _free),
        _Field("effect", _one_of("read", "idempotent", "write")),
        _Field("idempotency_key", _text_or_null),
        _performed_by,
    ),
    Kind.TOOL_CALL_COMPLETED: (
        _Field("seq", _seq),
        _Field("output", _free),
        _Field("deduplicated_from", _origin, may_be_absent=True),
        _Field("settled_by", _one_of("operator"), may_be_absent=True),
    ),
    Kind.NOW_OBSERVED: (_Field("now", _instant),),
    Kind.RANDOM_OBSERVED: (_Field("value", _seq),),
    Kind.SUSPENDED: (
        _Field("reason", text),
        _Field("input_schema", _free),
        _Field("kind", _one_of("signal"), may_be_absent=True),
    ),
    Kind.RESUMED: (_Field("input", _free),),
    Kind.SLEEP_STARTED: (_Field("wake_at", _wake_instant),),
    Kind.SLEEP_COMPLETED: (),
    Kind.BUDGET_EXCEEDED: (_Field("budget", _budget), _Field("observed", _number)),
    Kind.RUN_COMPLETED: (_Field("output", _free),),
    Kind.RUN_FAILED: (_Field("error", text),),
    Kind.RUN_ABANDONED: (
        _Field("reason", text, may_be_absent=True),
        _Field("unresolved_write", _write, may_be_absent=True),
    ),
    Kind.GRAPH_RUN_STARTED: (
        _Field("graph_hash", text),
        _Field("input", _free),
        _Field("labels", _labels, may_be_absent=True),
        _Field("forked_from", _free, may_be_absent=True),
    ),
    Kind.NODE_ENTERED: (_node,),
    Kind.NODE_EXITED: (_node,),
    Kind.NODE_SKIPPED: (_node, _Field("reason", text)),
    Kind.BRANCH_TAKEN: (_node, _Field("case", text)),
    Kind.MAP_FANNED_OUT: (_node, _Field("items", _free)),
    Kind.MAP_ITERATION_STARTED: (_node, _index, _Field("child_run", _run_id)),
    Kind.MAP_ITERATION_JOINED: (_node, _index),
    Kind.FOLD_ITERATION_STARTED: (_node, _index),
    Kind.FOLD_ITERATION_JOINED: (_node, _index),
    Kind.FOLD_CONVERGED: (_node, _Field("winner_index", _seq), _Field("reason", text)),
}
