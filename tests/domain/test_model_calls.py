"""Model calls: contract 6.8, 6.9 and the model-* transcripts."""

from __future__ import annotations

from typing import Any

import pytest

from salvor_admin.domain import model_calls, run_state
from salvor_admin.domain.client_tools import ABSENT
from salvor_admin.domain.events import Event, Kind
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.run_state import RunHead, RunState
from tests.domain.logs import model_completion, model_intent, started, tool_intent

HEAD = run_state.fold([started()])
OPEN = run_state.fold([started(), model_intent(1)])
SERVERS = Event(Kind.MODEL_CALL_REQUESTED, {"seq": 1, "request_hash": "sha256:m"})


def intent(head: RunHead = HEAD, seq: int = 1, **given: Any) -> model_calls.ModelIntentDecision:
    return model_calls.decide_model_intent(head, seq=seq, **({"request_hash": "sha256:m"} | given))


def test_a_fresh_model_intent_is_the_clients() -> None:
    decision = intent()
    assert decision.new_events == (model_intent(1),)
    assert (decision.head.state, decision.head.step_count) == (RunState.AWAITING_MODEL, 1)


@pytest.mark.parametrize(("body", "kept"), [({"messages": []}, {"messages": []}), (None, ABSENT), (ABSENT, ABSENT)])
def test_a_request_body_is_kept_unless_it_is_null(body: Any, kept: Any) -> None:
    assert intent(request_body=body).new_events[0].payload.get("request_body", ABSENT) == kept


def test_the_same_hash_again_is_answered_from_the_record_whatever_the_body() -> None:
    again = intent(OPEN, recorded=model_intent(1), request_body={"other": "body"})
    assert (again.new_events, again.completion) == ((), None)
    settled = intent(OPEN, recorded=model_intent(1), following=model_completion(1, 10, 3))
    assert settled.completion == model_completion(1, 10, 3)


@pytest.mark.parametrize(
    ("recorded", "request_hash"),
    [
        (model_intent(1), "sha256:other"),
        (model_intent(1), "SHA256:m"),
        (SERVERS, "sha256:m"),
        (started(), "sha256:m"),
        (model_completion(1, 1, 1), "sha256:m"),
        (tool_intent(1), "sha256:m"),
    ],
)
def test_a_recorded_position_answers_only_its_own_model_call(recorded: Event, request_hash: str) -> None:
    with pytest.raises(Refusal) as refused:
        intent(OPEN, recorded=recorded, request_hash=request_hash)
    assert refused.value.code == "divergence"


@pytest.mark.parametrize(("head", "seq"), [(OPEN, 2), (HEAD, 3), (RunHead(), 0)])
def test_a_model_intent_that_may_not_stand_next_diverges(head: RunHead, seq: int) -> None:
    with pytest.raises(Refusal) as refused:
        intent(head, seq)
    assert refused.value.code == "divergence"


def complete(head: RunHead, seq: int, recorded: Event | None) -> Any:
    usage = {"input_tokens": 10, "output_tokens": 3}
    return model_calls.decide_model_completion(head, seq=seq, response=None, usage=usage, intent=recorded)


def test_a_model_completion_closes_its_call_and_counts_its_tokens() -> None:
    decision = complete(OPEN, 1, model_intent(1))
    assert decision.event == model_completion(1, 10, 3)
    assert (decision.head.state, decision.head.input_tokens) == (RunState.RUNNING, 10)


@pytest.mark.parametrize(
    ("head", "seq", "recorded"),
    [
        (RunHead(), 0, None),
        (HEAD, 0, started()),
        (OPEN, 2, None),
        (run_state.fold([started(), tool_intent(1)]), 1, tool_intent(1)),
        (run_state.fold([started(), model_intent(1), model_completion(1, 1, 1)]), 1, model_intent(1)),
    ],
)
def test_a_completion_of_no_open_model_call_diverges(head: RunHead, seq: int, recorded: Event | None) -> None:
    with pytest.raises(Refusal) as refused:
        complete(head, seq, recorded)
    assert refused.value.code == "divergence"


def test_a_servers_model_call_is_not_the_clients_to_report() -> None:
    with pytest.raises(Refusal) as refused:
        complete(OPEN, 1, SERVERS)
    assert refused.value.code == "client_completion_refused"


@pytest.mark.parametrize(
    ("head", "seq", "recorded", "code"),
    [
        (HEAD, 1, None, "model_executor_unavailable"),
        (HEAD, 2, None, "divergence"),
        (HEAD, 0, started(), "divergence"),
        (OPEN, 1, model_intent(1), "divergence"),
        (OPEN, 2, None, "divergence"),
    ],
)
def test_a_model_step_is_judged_by_its_position_first(
    head: RunHead, seq: int, recorded: Event | None, code: str
) -> None:
    assert model_calls.decide_model_step(head, seq=seq, recorded=recorded).code == code
