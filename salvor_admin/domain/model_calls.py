"""What becomes of a model call that the client performs itself."""

from __future__ import annotations

from dataclasses import dataclass

from salvor_admin.domain import append_guard, run_state
from salvor_admin.domain.client_tools import ABSENT
from salvor_admin.domain.events import Event, Kind
from salvor_admin.domain.ledger import CallDecision
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.run_state import RunHead
from salvor_admin.domain.strict_json import Json


@dataclass(frozen=True, slots=True)
class ModelIntentDecision:
    """What was recorded for the call, if it is settled, and the intent to write if it is new."""

    completion: Event | None
    new_events: tuple[Event, ...]
    head: RunHead


def decide_model_intent(
    head: RunHead,
    *,
    seq: int,
    request_hash: str,
    request_body: Json = ABSENT,
    recorded: Event | None = None,
    following: Event | None = None,
) -> ModelIntentDecision:
    """Judge a model intent (contract 6.8); at a recorded position the hash alone is compared."""
    if recorded is not None:
        if (
            recorded.kind is not Kind.MODEL_CALL_REQUESTED
            or recorded.payload.get("performed_by") != "client"
            or recorded.payload["request_hash"] != request_hash
        ):
            raise _other(seq, recorded)
        is_settled = following is not None and following.kind is Kind.MODEL_CALL_COMPLETED
        return ModelIntentDecision(following if is_settled else None, (), head)
    payload: dict[str, Json] = {"seq": seq, "request_hash": request_hash}
    if request_body is not ABSENT and request_body is not None:
        payload["request_body"] = request_body
    intent = Event(Kind.MODEL_CALL_REQUESTED, {**payload, "performed_by": "client"})
    append_guard.check_next(head, intent, seq=seq)
    return ModelIntentDecision(None, (intent,), run_state.advance(head, intent))


def decide_model_completion(
    head: RunHead, *, seq: int, response: Json, usage: dict[str, int], intent: Event | None
) -> CallDecision:
    """Judge what the client says its model answered (contract 6.8)."""
    if intent is None or head.open_model_seq != seq:
        raise Refusal(
            "divergence",
            f"Position {seq} is not an open model call at the log's end. Post its intent again to see what is "
            "recorded there.",
        )
    if intent.payload.get("performed_by") != "client":
        raise Refusal("client_completion_refused", f"The model call at position {seq} is not the client's to report.")
    event = Event(Kind.MODEL_CALL_COMPLETED, {"seq": seq, "response": response, "usage": usage})
    append_guard.check_next(head, event, seq=head.next_seq)
    return CallDecision(event, run_state.advance(head, event))


def decide_model_step(head: RunHead, *, seq: int, recorded: Event | None) -> Refusal:
    """What is said to a request that the server call a model: it has none, but positions are looked at first."""
    if recorded is not None:
        return _other(seq, recorded)
    try:
        intent = Event(Kind.MODEL_CALL_REQUESTED, {"seq": seq, "request_hash": ""})
        append_guard.check_next(head, intent, seq=seq)
    except Refusal as refusal:
        return refusal
    return Refusal(
        "model_executor_unavailable",
        "This server calls no models. Call yours, and post client-model-intent and client-model-completion.",
    )


def _other(seq: int, recorded: Event) -> Refusal:
    return Refusal(
        "divergence",
        f"Position {seq} holds another event ({recorded.kind.value}). Read the log; what is recorded stays.",
    )
