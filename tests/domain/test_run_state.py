"""The fold: contract 5, and what the transcripts runs-02, append-17, append-19 and abandon-02 show."""

from __future__ import annotations

from typing import Any

import pytest

from salvor_admin.domain import instants, run_state
from salvor_admin.domain.events import Event, Kind
from salvor_admin.domain.run_state import RunHead, RunState
from tests.domain.logs import (
    BUDGET,
    LOOKED,
    SLEEP,
    SUSPENDED,
    WOKEN,
    model_completion,
    model_intent,
    started,
    tool_completion,
    tool_intent,
)

NOW = instants.read("2026-11-30T12:00:00Z")


def status_of(log: list[Event]) -> dict[str, Any]:
    assert NOW is not None
    head = run_state.fold(log)
    said_by = None if head.state_seq is None else log[head.state_seq]
    return run_state.status(head.state, said_by, NOW)


@pytest.mark.parametrize(
    ("log", "status"),
    [
        ([], {"state": "not_started"}),
        ([started()], {"state": "running"}),
        ([started(), model_intent(1)], {"state": "awaiting_model"}),
        ([started(), model_intent(1), model_completion(1, 1, 1)], {"state": "running"}),
        ([started(), tool_intent(1, "read")], {"state": "awaiting_tool"}),
        ([started(), tool_intent(1, "idempotent")], {"state": "awaiting_tool"}),
        ([started(), tool_intent(1, "write")], {"state": "needs_reconciliation"}),
        ([started(), tool_intent(1), tool_completion(1)], {"state": "running"}),
        (
            [started(), tool_intent(1), tool_completion(1, {"__salvor_error": {"message": "m"}})],
            {"state": "running"},
        ),
        (
            [started(), SUSPENDED],
            {"state": "suspended", "reason": "ask the shop", "input_schema": {"type": "object"}},
        ),
        ([started(), SUSPENDED, Event(Kind.RESUMED, {"input": 1})], {"state": "running"}),
        (
            [started(), SUSPENDED, LOOKED],
            {"state": "suspended", "reason": "ask the shop", "input_schema": {"type": "object"}},
        ),
        ([started(), SLEEP, WOKEN], {"state": "running"}),
        (
            [started(), BUDGET],
            {"state": "budget_exceeded", "budget": {"kind": "steps", "limit": 20.0}, "observed": 21.0},
        ),
        ([started(), Event(Kind.RUN_COMPLETED, {"output": None})], {"state": "completed", "output": None}),
        ([started(), Event(Kind.RUN_FAILED, {"error": "boom"})], {"state": "failed", "error": "boom"}),
        ([started(), Event(Kind.RUN_ABANDONED, {})], {"state": "abandoned"}),
        (
            [
                started(),
                tool_intent(1),
                Event(Kind.RUN_ABANDONED, {"reason": "r", "unresolved_write": {"seq": 1, "tool": "wire_payout"}}),
            ],
            {"state": "abandoned", "reason": "r", "unresolved_write": {"seq": 1, "tool": "wire_payout"}},
        ),
    ],
)
def test_the_later_event_says_the_status(log: list[Event], status: dict[str, Any]) -> None:
    assert status_of(log) == status


def test_a_sleep_past_its_time_is_overdue_and_shown_in_utc() -> None:
    assert status_of([started(), SLEEP]) == {
        "state": "sleeping",
        "wake_at": "2020-01-01T00:00:00Z",
        "overdue": True,
        "overdue_seconds": 218203200,
    }


def test_a_sleep_before_its_time_is_not_overdue() -> None:
    asleep = Event(Kind.SLEEP_STARTED, {"wake_at": "2999-01-01T00:00:00+01:00"})
    assert status_of([started(), asleep]) == {"state": "sleeping", "wake_at": "2998-12-31T23:00:00Z"}


def test_usage_and_steps_add_up() -> None:
    log = [started(), model_intent(1), model_completion(1, 10, 3), model_intent(3), model_completion(3, 4294967295, 0)]
    head = run_state.fold(log)
    assert (head.input_tokens, head.output_tokens, head.step_count, head.next_seq) == (4294967305, 3, 2, 5)


def test_one_completion_closes_every_sleep_and_nothing_else_does() -> None:
    asleep = run_state.fold([started(), SLEEP, SLEEP, LOOKED, Event(Kind.RESUMED, {"input": 1})])
    assert asleep.has_open_sleep
    assert not run_state.fold([WOKEN], asleep).has_open_sleep


def test_an_open_call_is_shown_until_it_is_completed_even_when_its_run_was_abandoned() -> None:
    head = run_state.fold([started(), tool_intent(1)])
    assert (head.pending_seq, head.open_tool_seq) == (1, 1)
    abandoned = run_state.fold([Event(Kind.RUN_ABANDONED, {})], head)
    assert (abandoned.pending_seq, abandoned.open_tool_seq) == (1, None)
    assert run_state.fold([tool_completion(1)], head).pending_seq is None


def test_what_is_pending_is_shown_without_who_performs_it() -> None:
    assert run_state.pending(None) is None
    assert run_state.pending(model_intent(3)) == {"kind": "model", "seq": 3, "request_hash": "sha256:m"}
    assert run_state.pending(tool_intent(1)) == {
        "kind": "tool",
        "seq": 1,
        "tool": "wire_payout",
        "input": {"n": 1},
        "effect": "write",
        "idempotency_key": "sha256:k",
    }


def test_folding_in_parts_gives_the_head_of_the_whole() -> None:
    log = [
        started(),
        model_intent(1),
        model_completion(1, 10, 3),
        tool_intent(3),
        tool_completion(3),
        SLEEP,
        WOKEN,
        BUDGET,
    ]
    whole = run_state.fold(log)
    for cut in range(len(log) + 1):
        assert run_state.fold(log[cut:], run_state.fold(log[:cut])) == whole


def test_only_ends_are_terminal() -> None:
    ends = {RunState.COMPLETED, RunState.FAILED, RunState.ABANDONED}
    assert {state for state in RunState if RunHead(state=state).is_terminal} == ends
