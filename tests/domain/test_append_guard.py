"""The append guard: contract 4 and the append-* transcripts."""

from __future__ import annotations

import pytest

from salvor_admin.domain import append_guard, run_state
from salvor_admin.domain.events import Envelope, Event, Kind
from salvor_admin.domain.refusals import Refusal
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

RUN = "90aeac1f-4257-55a2-9e6f-e1a7a76e7638"
OTHER = "8ebfd895-b98e-50a6-8723-d1f316d2428b"
COMPLETED = Event(Kind.RUN_COMPLETED, {"output": 1})
ABANDONED = Event(Kind.RUN_ABANDONED, {})
RESUMED = Event(Kind.RESUMED, {"input": None})
GRAPH = Event(Kind.GRAPH_RUN_STARTED, {"graph_hash": "g", "input": 1})
NODE = Event(Kind.NODE_ENTERED, {"node": "n"})

LOGS = {
    "empty": [],
    "running": [started()],
    "asleep": [started(), SLEEP],
    "model open": [started(), model_intent(1)],
    "read open": [started(), tool_intent(1, "read")],
    "write open": [started(), tool_intent(1)],
    "ended": [started(), COMPLETED],
}
NEXT = {
    "head": started(),
    "observation": LOOKED,
    "wake": WOKEN,
    "end": COMPLETED,
    "abandon": ABANDONED,
    "tool intent": tool_intent(1),
    "model intent": model_intent(1),
    "tool completion": tool_completion(1),
    "model completion": model_completion(1, 1, 1),
}
MAY_FOLLOW = {
    "empty": {"head"},
    "running": {"observation", "end", "abandon", "tool intent", "model intent"},
    "asleep": {"observation", "wake", "end", "abandon"},
    "model open": {"abandon", "model completion"},
    "read open": {"abandon", "tool completion"},
    "write open": {"abandon", "tool completion"},
    "ended": set(),
}


@pytest.mark.parametrize("following", NEXT)
@pytest.mark.parametrize("log", LOGS)
def test_what_may_stand_next_depends_on_where_the_log_ends(log: str, following: str) -> None:
    head = run_state.fold(LOGS[log])
    if following in MAY_FOLLOW[log]:
        append_guard.check_next(head, NEXT[following], seq=head.next_seq)
        return
    with pytest.raises(Refusal) as refused:
        append_guard.check_next(head, NEXT[following], seq=head.next_seq)
    assert refused.value.code == "divergence"


@pytest.mark.parametrize(("seq", "version"), [(0, 1), (2, 1), (1, 2), (1, 0)])
def test_only_the_next_position_in_version_one_may_be_taken(seq: int, version: int) -> None:
    with pytest.raises(Refusal) as refused:
        append_guard.check_next(run_state.fold([started()]), LOOKED, seq=seq, schema_version=version)
    assert refused.value.code == "divergence"


def decide(
    log: list[Event], *batch: tuple[int, Event], run: str = RUN, version: int = 1
) -> append_guard.AppendDecision:
    head = run_state.fold(log)
    envelopes = [Envelope(run, seq, version, event) for seq, event in batch]
    return append_guard.decide_append(head, run_id=RUN, batch=envelopes, recorded=dict(enumerate(log)))


def refusal(log: list[Event], *batch: tuple[int, Event], run: str = RUN, version: int = 1) -> Refusal:
    with pytest.raises(Refusal) as refused:
        decide(log, *batch, run=run, version=version)
    return refused.value


def observed(value: int) -> Event:
    return Event(Kind.RANDOM_OBSERVED, {"value": value})


def test_an_empty_batch_changes_nothing() -> None:
    decision = decide([])
    assert (decision.positions, decision.new_events, decision.head) == ((), (), RunHead())


def test_a_head_is_stamped_as_the_clients_whatever_it_said() -> None:
    event = Event(Kind.RUN_STARTED, {"agent_def_hash": "h", "input": 1, "driven_by": "server"})
    decision = decide([], (0, event))
    assert decision.new_events[0].payload["driven_by"] == "client"
    assert decision.head.is_client_driven


def test_a_batch_moves_the_head_by_all_of_its_new_events() -> None:
    decision = decide([], (0, started()), (1, LOOKED), (2, observed(1)))
    assert decision.positions == (0, 1, 2)
    assert (decision.head.next_seq, decision.head.state) == (3, RunState.RUNNING)


def test_recorded_events_are_no_ops_in_any_order() -> None:
    log = [started(), LOOKED, observed(1)]
    decision = decide(log, (2, observed(1)), (0, started()), (3, observed(2)))
    assert decision.positions == (2, 0, 3)
    assert decision.new_events == (observed(2),)


def test_a_position_of_the_same_batch_counts_as_recorded() -> None:
    log = [started()]
    assert decide(log, (1, observed(1)), (1, observed(1))).positions == (1, 1)
    assert refusal(log, (1, observed(1)), (1, observed(9))).code == "divergence"


def test_another_event_at_a_recorded_position_diverges() -> None:
    log = [started(), observed(1)]
    assert refusal(log, (1, observed(2))).code == "divergence"
    assert refusal(log, (1, LOOKED)).code == "divergence"
    assert refusal(log, (1, observed(1)), version=2).code == "divergence"


@pytest.mark.parametrize(
    "event", [model_intent(1), model_completion(1, 1, 1), tool_intent(1), tool_completion(1)], ids=lambda e: e.kind
)
def test_calls_are_not_taken_by_the_plain_append_wherever_they_stand(event: Event) -> None:
    for seq in (0, 1, 7):
        refused = refusal([started()], (seq, event), version=5)
        assert refused.code == "unsupported_event_kind"
        assert event.kind.value in refused.message


def test_the_run_is_looked_at_before_the_kind() -> None:
    assert refusal([started()], (1, tool_intent(1)), run=OTHER).code == "divergence"


def test_the_first_fault_of_a_batch_decides() -> None:
    assert refusal([started()], (9, observed(1)), (1, tool_completion(1))).code == "divergence"
    assert refusal([started()], (1, COMPLETED), (2, LOOKED)).code == "divergence"


def test_labels_are_looked_at_before_the_position_and_before_what_is_recorded() -> None:
    labelled = started(labels={"k" * 65: "v"})
    assert refusal([], (4, labelled)).code == "bad_request"
    assert refusal([started()], (0, labelled)).code == "bad_request"


def test_a_client_may_end_a_run_by_abandoning_it_but_not_past_an_open_call() -> None:
    claimed = Event(Kind.RUN_ABANDONED, {"reason": "duplicate", "unresolved_write": {"seq": 9, "tool": "made_up"}})
    assert decide([started()], (1, claimed)).head.state is RunState.ABANDONED
    for effect in ("read", "write"):
        assert refusal([started(), tool_intent(1, effect)], (2, ABANDONED)).code == "divergence"


def test_suspending_resuming_and_budgets_need_no_partner() -> None:
    decision = decide([started()], (1, RESUMED), (2, SUSPENDED), (3, BUDGET), (4, RESUMED))
    assert decision.head.state is RunState.RUNNING


def test_graph_events_are_refused_where_a_log_could_take_them() -> None:
    assert refusal([], (0, GRAPH)).code == "unsupported_event_kind"
    assert refusal([started()], (1, NODE)).code == "unsupported_event_kind"
    assert refusal([started()], (1, GRAPH)).code == "divergence"


def test_a_batch_of_1024_is_taken_and_one_more_is_too_large() -> None:
    batch = [(0, started())] * 1024
    assert len(decide([], *batch).positions) == 1024
    refused = refusal([], *batch, (0, started()))
    assert refused.code == "payload_too_large"
    assert "1024" in refused.message
