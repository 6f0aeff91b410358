"""Events to make logs of."""

from __future__ import annotations

from typing import Any

from salvor_admin.domain.events import Event, Kind


def started(**payload: Any) -> Event:
    return Event(Kind.RUN_STARTED, {"agent_def_hash": "h", "input": None, "driven_by": "client"} | payload)


def tool_intent(seq: int, effect: str = "write") -> Event:
    payload = {"seq": seq, "tool": "wire_payout", "input": {"n": 1}, "effect": effect, "idempotency_key": "sha256:k"}
    return Event(Kind.TOOL_CALL_REQUESTED, payload | {"performed_by": "client"})


def model_intent(seq: int) -> Event:
    return Event(Kind.MODEL_CALL_REQUESTED, {"seq": seq, "request_hash": "sha256:m", "performed_by": "client"})


def model_completion(seq: int, input_tokens: int, output_tokens: int) -> Event:
    usage = {"input_tokens": input_tokens, "output_tokens": output_tokens}
    return Event(Kind.MODEL_CALL_COMPLETED, {"seq": seq, "response": None, "usage": usage})


def tool_completion(seq: int, output: Any = None) -> Event:
    return Event(Kind.TOOL_CALL_COMPLETED, {"seq": seq, "output": output})


SUSPENDED = Event(Kind.SUSPENDED, {"reason": "ask the shop", "input_schema": {"type": "object"}})
SLEEP = Event(Kind.SLEEP_STARTED, {"wake_at": "2020-01-01T02:00:00+02:00"})
WOKEN = Event(Kind.SLEEP_COMPLETED, {})
BUDGET = Event(Kind.BUDGET_EXCEEDED, {"budget": {"kind": "steps", "limit": 20.0}, "observed": 21.0})
LOOKED = Event(Kind.NOW_OBSERVED, {"now": "2026-03-04T10:15:30Z"})
