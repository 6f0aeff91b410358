"""Tool calls: contract 6.6, 6.7, 6.13, 6.14; design section 5; the intent-, completion-, resolve-, abandon- transcripts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from salvor_admin.domain import ledger, run_state
from salvor_admin.domain.client_tools import ABSENT, ClientTool
from salvor_admin.domain.effects import Effect
from salvor_admin.domain.events import Event, Kind
from salvor_admin.domain.ledger import Claim, Failure, ReportRefused, ToolAsk
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.run_state import RunHead, RunState
from tests.domain.logs import SLEEP, SUSPENDED, model_intent, started

# completion-01, completion-05, intent-04: ids and keys as the transcripts hold them.
R = "5691f3d0-d4aa-45b9-9875-2127c31e039e"
POSITIONAL_AT_1 = "sha256:0694aaa7d0d2d7a5f29179daede2120748d442eda4c8667909e378e090271e2e"
POSITIONAL_AT_3 = "sha256:381c4e1686e70c110679285138a4010ac7493a03fea81135ba3c60950f9e7f53"
BY_ORDER = "sha256:89da6a98ee141b1166e1d1e0abfc08377585eda238b74e28a6af421e3418284f"
INPUT = {"order_id": "ORD-7781", "amount_cents": 5000}
OUTPUT = {"amount_cents": 5000, "provider_refund_id": "rf_31"}
TOOL = ClientTool(
    name="refund_card",
    effect=Effect.WRITE,
    input_schema={
        "type": "object",
        "required": ["order_id", "amount_cents"],
        "properties": {"amount_cents": {"type": "integer", "minimum": 1}},
    },
    output_schema={"type": "object", "required": ["amount_cents", "provider_refund_id"]},
    trust_completion=True,
    require_equal=("amount_cents",),
    idempotency_key=("order_id",),
)
POSITIONAL = replace(TOOL, idempotency_key=())
UNTRUSTED = replace(TOOL, trust_completion=False)
HEAD = run_state.fold([started()])


def ask(seq: int = 1, input: Any = INPUT, tool: str = "refund_card") -> ToolAsk:
    return ToolAsk(seq, tool, input)


def intent_of(tool: ClientTool = TOOL, seq: int = 1, input: Any = INPUT) -> Event:
    head = replace(HEAD, next_seq=seq)
    return ledger.decide_intent(head, ask(seq, input, tool.name), run_id=R, live=tool).new_events[0]


def refused(call: Any, **arguments: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        call(**arguments)
    return caught.value


# --- intents ---------------------------------------------------------------------------------------------------------


def test_a_fresh_intent_is_written_with_our_key_and_effect_and_is_not_settled() -> None:
    decision = ledger.decide_intent(HEAD, ask(), run_id=R, live=TOOL)
    assert decision.new_events == (
        Event(
            Kind.TOOL_CALL_REQUESTED,
            {
                "seq": 1,
                "tool": "refund_card",
                "input": INPUT,
                "effect": "write",
                "idempotency_key": BY_ORDER,
                "performed_by": "client",
            },
        ),
    )
    assert (decision.answer.idempotency_key, decision.answer.is_settled) == (BY_ORDER, False)
    assert decision.head.state is RunState.NEEDS_RECONCILIATION
    assert decision.head.open_tool_seq == 1


def test_a_positional_key_knows_the_position() -> None:
    assert intent_of(POSITIONAL, 1).payload["idempotency_key"] == POSITIONAL_AT_1
    assert intent_of(POSITIONAL, 3).payload["idempotency_key"] == POSITIONAL_AT_3


def test_an_unknown_tool_is_told_where_tools_come_from() -> None:
    refusal = refused(ledger.decide_intent, head=HEAD, ask=ask(), run_id=R, live=None)
    assert refusal.code == "unknown_tool"
    assert "refund_card" in refusal.message
    assert "--client-tool" in refusal.message


def test_an_input_that_does_not_fit_is_refused_before_the_position() -> None:
    refusal = refused(ledger.decide_intent, head=HEAD, ask=ask(9, {"order_id": "O"}), run_id=R, live=TOOL)
    assert refusal.code == "bad_request"
    assert "input_schema" in refusal.message
    assert "refund_card" in refusal.message


def test_a_missing_key_field_is_refused_where_the_schema_lets_it_pass() -> None:
    loose = replace(TOOL, input_schema={"required": ["order_id"]})
    refusal = refused(ledger.decide_intent, head=HEAD, ask=ask(1, "text"), run_id=R, live=loose)
    assert refusal.code == "bad_request"
    assert "order_id" in refusal.message


@pytest.mark.parametrize(
    "head",
    [
        RunHead(),
        run_state.fold([started(), model_intent(1)]),
        run_state.fold([started(), Event(Kind.RUN_COMPLETED, {"output": 1})]),
    ],
    ids=["no events", "a call is open", "ended"],
)
def test_an_intent_that_may_not_stand_next_diverges(head: RunHead) -> None:
    refusal = refused(ledger.decide_intent, head=head, ask=ask(head.next_seq), run_id=R, live=TOOL)
    assert refusal.code == "divergence"


def test_an_intent_past_the_end_diverges() -> None:
    assert refused(ledger.decide_intent, head=HEAD, ask=ask(2), run_id=R, live=TOOL).code == "divergence"


def completed(seq: int, output: Any, **more: Any) -> Event:
    return Event(Kind.TOOL_CALL_COMPLETED, {"seq": seq, "output": output} | more)


def repeated(recorded: Event, again: ToolAsk, tool: ClientTool | None, **more: Any) -> ledger.IntentAnswer:
    return ledger.decide_repeated_intent(
        again, run_id=R, recorded=recorded, recorded_tool=tool, **({"following": None} | more)
    )


def test_the_same_intent_again_is_still_open() -> None:
    assert not repeated(intent_of(), ask(), TOOL, live=TOOL).is_settled


@pytest.mark.parametrize("output", [OUTPUT, None, {"__salvor_error": {"message": "m"}}])
def test_the_same_intent_again_says_what_was_recorded(output: Any) -> None:
    answer = repeated(intent_of(), ask(), TOOL, live=TOOL, following=completed(1, output, settled_by="operator"))
    assert answer.is_settled
    assert answer.output == output


def test_an_intent_of_an_abandoned_run_stays_unsettled() -> None:
    answer = repeated(intent_of(), ask(), TOOL, live=TOOL, following=Event(Kind.RUN_ABANDONED, {}))
    assert not answer.is_settled


@pytest.mark.parametrize(
    "again", [ask(1, INPUT | {"amount_cents": 5001}), ask(1, INPUT | {"order_id": "O-2"})], ids=["content", "key"]
)
def test_another_content_at_a_recorded_position_diverges(again: ToolAsk) -> None:
    with pytest.raises(Refusal) as caught:
        repeated(intent_of(), again, TOOL, live=TOOL)
    assert caught.value.code == "divergence"


@pytest.mark.parametrize(
    "live",
    [
        None,
        replace(TOOL, effect=Effect.IDEMPOTENT),
        replace(TOOL, idempotency_key=("amount_cents",)),
        replace(TOOL, input_schema={"required": ["why"]}),
    ],
    ids=["revoked", "effect", "key", "schema"],
)
def test_history_replays_under_its_own_revision_whatever_is_live_now(live: ClientTool | None) -> None:
    answer = repeated(intent_of(), ask(), TOOL, live=live)
    assert answer.effect is Effect.WRITE
    assert answer.idempotency_key == BY_ORDER


def test_another_tool_at_a_recorded_position_is_judged_by_what_is_live() -> None:
    for live, code in ((None, "unknown_tool"), (replace(TOOL, name="other"), "divergence")):
        with pytest.raises(Refusal) as caught:
            repeated(intent_of(), ask(1, INPUT, "other"), TOOL, live=live)
        assert caught.value.code == code


def test_a_tool_intent_at_a_model_calls_place_diverges() -> None:
    with pytest.raises(Refusal) as caught:
        repeated(model_intent(1), ask(), None, live=TOOL)
    assert caught.value.code == "divergence"


def test_minus_zero_is_zero_in_a_plain_field_and_another_call_in_a_key_field() -> None:
    loose = replace(POSITIONAL, input_schema={})
    recorded = intent_of(loose, 1, {"n": 0.0})
    assert not repeated(recorded, ask(1, {"n": -0.0}), loose, live=loose).is_settled
    keyed = replace(TOOL, input_schema={}, idempotency_key=("n",))
    recorded = intent_of(keyed, 1, {"n": 0.0})
    with pytest.raises(Refusal) as caught:
        repeated(recorded, ask(1, {"n": -0.0}), keyed, live=keyed)
    assert caught.value.code == "divergence"


def test_the_same_content_again_is_answered_from_the_record_and_names_the_first_call() -> None:
    head = run_state.fold([started(), intent_of(), completed(1, OUTPUT, settled_by="operator")])
    claim = Claim(R, 1, completed(1, OUTPUT, settled_by="operator"))
    decision = ledger.decide_intent(head, ask(3), run_id=R, live=TOOL, claim=claim)
    intent, copy = decision.new_events
    assert intent.payload["seq"] == 3
    assert copy == completed(3, OUTPUT, deduplicated_from={"run_id": R, "seq": 1})
    assert (decision.answer.seq, decision.answer.output, decision.answer.is_settled) == (3, OUTPUT, True)
    assert (decision.head.next_seq, decision.head.state) == (5, RunState.RUNNING)


def test_a_claim_that_is_not_finished_diverges() -> None:
    refusal = refused(ledger.decide_intent, head=HEAD, ask=ask(), run_id=R, live=TOOL, claim=Claim(R, 7, None))
    assert refusal.code == "divergence"
    assert R in refusal.message


def test_only_keyed_calls_that_change_something_are_answered_from_the_record() -> None:
    assert ledger.is_answered_from_record(TOOL)
    assert ledger.is_answered_from_record(replace(TOOL, effect=Effect.IDEMPOTENT))
    assert not ledger.is_answered_from_record(replace(TOOL, effect=Effect.READ))
    assert not ledger.is_answered_from_record(POSITIONAL)


# --- reports ---------------------------------------------------------------------------------------------------------


def report(given: Any = OUTPUT, *, tool: ClientTool | None = TOOL, **changed: Any) -> ledger.CallDecision:
    intent = intent_of(tool or TOOL)
    arguments: dict[str, Any] = {
        "head": run_state.fold([started(), intent]),
        "run_id": R,
        "seq": 1,
        "report": given,
        "intent": intent,
        "tool": tool,
        "live": tool,
    }
    return ledger.decide_completion(**(arguments | changed))


def refused_report(given: Any = OUTPUT, **changed: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        report(given, **changed)
    return caught.value


def test_a_believed_report_closes_the_call() -> None:
    decision = report()
    assert decision.event == completed(1, OUTPUT)
    assert (decision.head.state, decision.head.open_tool_seq) == (RunState.RUNNING, None)


@pytest.mark.parametrize(
    ("head", "seq", "intent"),
    [
        (RunHead(), 0, None),
        (HEAD, 0, started()),
        (run_state.fold([started(), model_intent(1)]), 1, model_intent(1)),
        (run_state.fold([started(), intent_of()]), 2, None),
        (run_state.fold([started(), intent_of(), completed(1, OUTPUT)]), 1, intent_of()),
        (run_state.fold([started(), intent_of(), Event(Kind.RUN_ABANDONED, {})]), 1, intent_of()),
    ],
    ids=["no events", "no call", "a model call", "another position", "settled", "abandoned"],
)
def test_a_report_about_no_open_call_diverges_and_is_no_evidence(head: RunHead, seq: int, intent: Event | None) -> None:
    refusal = refused_report(head=head, seq=seq, intent=intent)
    assert refusal.code == "divergence"
    assert not isinstance(refusal, ReportRefused)


def test_a_revoked_tools_report_is_refused_as_unknown_and_kept() -> None:
    refusal = refused_report(live=None)
    assert refusal.code == "unknown_tool"
    assert isinstance(refusal, ReportRefused)


@pytest.mark.parametrize("given", [OUTPUT, {"wrong": 1}, Failure("down"), Failure("down", "nonsense")])
def test_an_untrusted_tools_client_is_told_who_settles_whatever_it_says(given: Any) -> None:
    refusal = refused_report(given, tool=UNTRUSTED)
    assert isinstance(refusal, ReportRefused)
    assert refusal.code == "client_completion_refused"
    for part in ("refund_card", "trust_completion = false", f"/v1/runs/{R}/resolve", "salvor resolve"):
        assert part in refusal.message


def test_trust_must_stand_in_the_intents_revision_and_in_the_live_one() -> None:
    assert refused_report(live=UNTRUSTED).code == "client_completion_refused"
    assert refused_report(tool=UNTRUSTED, live=TOOL).code == "client_completion_refused"


def test_shape_and_pins_are_judged_by_the_intents_revision() -> None:
    changed = replace(TOOL, output_schema={"type": "array"}, require_equal=("order_id",))
    assert report(live=changed).event == completed(1, OUTPUT)


def test_a_failure_is_recorded_as_the_sentinel_and_needs_no_schema() -> None:
    decision = report(Failure("board is gone"), tool=replace(TOOL, output_schema=ABSENT, require_equal=()))
    sentinel = {"__salvor_error": {"attempts": 1, "is_error": True, "kind": "handler", "message": "board is gone"}}
    assert decision.event == completed(1, sentinel)
    assert decision.head.state is RunState.RUNNING


@pytest.mark.parametrize("kind", ["timeout", "Handler", ""])
def test_an_unknown_failure_kind_is_refused_with_the_legal_ones(kind: str) -> None:
    refusal = refused_report(Failure("m", kind))
    assert isinstance(refusal, ReportRefused)
    assert refusal.code == "bad_request"
    for part in (kind, "invalid_input", "handler", "output_serialization"):
        assert part in refusal.message


def test_without_an_output_schema_no_result_is_believed() -> None:
    refusal = refused_report(tool=replace(TOOL, output_schema=ABSENT, require_equal=()))
    assert isinstance(refusal, ReportRefused)
    assert refusal.code == "client_completion_refused"
    for part in ("refund_card", "no output_schema", f"/v1/runs/{R}/resolve", "salvor resolve"):
        assert part in refusal.message


def test_an_output_that_does_not_fit_is_refused_before_its_pins() -> None:
    refusal = refused_report({"amount_cents": 4999})
    assert isinstance(refusal, ReportRefused)
    assert refusal.code == "bad_request"
    for part in ("output_schema", "refund_card", "provider_refund_id"):
        assert part in refusal.message


@pytest.mark.parametrize(
    ("value", "spelt"), [(5000.0, "5000.0"), ("5000", '"5000"'), (None, "null"), (4999, "4999"), ({"a": 1}, '{"a":1}')]
)
def test_a_pinned_value_must_come_back_exactly(value: Any, spelt: str) -> None:
    refusal = refused_report(OUTPUT | {"amount_cents": value})
    assert isinstance(refusal, ReportRefused)
    assert refusal.code == "client_completion_refused"
    for part in ("refund_card", "`amount_cents`", "5000", spelt, "require_equal", f"/v1/runs/{R}/resolve"):
        assert part in refusal.message


def test_of_two_pins_the_first_declared_is_told() -> None:
    tool = replace(TOOL, require_equal=("order_id", "amount_cents"), output_schema={})
    assert "`order_id`" in refused_report({"amount_cents": 1}, tool=tool).message


def test_what_is_told_of_a_long_value_is_cut() -> None:
    assert len(refused_report(OUTPUT | {"amount_cents": "x" * 100_000}).message) < 2000


# --- settlement ------------------------------------------------------------------------------------------------------


def settle(answer: Any = OUTPUT, *, tool: ClientTool | None = UNTRUSTED, **changed: Any) -> ledger.CallDecision:
    intent = intent_of(tool or TOOL)
    arguments: dict[str, Any] = {
        "head": run_state.fold([started(), intent]),
        "run_id": R,
        "intent": intent,
        "tool": tool,
        "answer": answer,
    }
    return ledger.decide_settlement(**(arguments | changed))


def refused_settlement(answer: Any = OUTPUT, **changed: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        settle(answer, **changed)
    return caught.value


def test_a_person_settles_an_untrusted_write() -> None:
    decision = settle()
    assert decision.event == completed(1, OUTPUT, settled_by="operator")
    assert decision.head.state is RunState.RUNNING


@pytest.mark.parametrize("answer", [None, {"__salvor_error": {"message": "m"}}, "anything"])
def test_without_an_output_schema_a_person_may_record_anything(answer: Any) -> None:
    bare = replace(UNTRUSTED, output_schema=ABSENT, require_equal=())
    assert settle(answer, tool=bare).event == completed(1, answer, settled_by="operator")


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ({"amount_cents": 5000}, ("output_schema", "refund_card")),
        (None, ("output_schema",)),
        ({"__salvor_error": {"message": "m"}}, ("output_schema",)),
        (OUTPUT | {"amount_cents": 5001}, ("refund_card", "amount_cents", "require_equal", "5001", "5000")),
        (OUTPUT | {"amount_cents": 5000.0}, ("5000.0",)),
    ],
)
def test_what_a_person_enters_is_held_to_schema_and_pins(answer: Any, parts: tuple[str, ...]) -> None:
    refusal = refused_settlement(answer)
    assert refusal.code == "bad_request"
    for part in parts:
        assert part in refusal.message


def test_without_any_declaration_nothing_can_hold_the_output() -> None:
    refusal = refused_settlement(tool=None)
    assert refusal.code == "bad_request"
    assert "refund_card" in refusal.message
    assert "--client-tool" in refusal.message


def test_a_person_may_record_that_the_call_failed() -> None:
    event = settle(Failure("the bank said no", "handler")).event
    assert event.payload["settled_by"] == "operator"
    assert event.payload["output"]["__salvor_error"]["message"] == "the bank said no"
    assert refused_settlement(Failure("m", "timeout")).code == "bad_request"


def test_a_run_without_events_is_unknown() -> None:
    assert refused_settlement(head=RunHead(), intent=None).code == "unknown_run"


@pytest.mark.parametrize("effect", [Effect.READ, Effect.IDEMPOTENT])
def test_what_may_be_repeated_is_not_settled_over_the_wire(effect: Effect) -> None:
    tool = replace(UNTRUSTED, effect=effect)
    refusal = refused_settlement(tool=tool)
    assert refusal.code == "wrong_state"
    assert "refund_card" in refusal.message
    assert "next drive" in refusal.message
    assert "recover" not in refusal.message
    assert refused_settlement({}, tool=tool).code == "bad_request"


@pytest.mark.parametrize("effect", [Effect.READ, Effect.IDEMPOTENT])
def test_pages_settle_every_effect(effect: Effect) -> None:
    decision = settle(tool=replace(UNTRUSTED, effect=effect), only_writes=False)
    assert decision.event == completed(1, OUTPUT, settled_by="operator")


def test_an_open_model_call_is_not_settled_by_hand() -> None:
    head = run_state.fold([started(), model_intent(1)])
    refusal = refused_settlement(head=head, intent=model_intent(1))
    assert refusal.code == "wrong_state"
    assert "model" in refusal.message


@pytest.mark.parametrize(
    "log",
    [[started()], [started(), SUSPENDED], [started(), SLEEP], [started(), Event(Kind.RUN_COMPLETED, {"output": 1})]],
)
def test_where_no_write_is_open_the_state_is_named(log: list[Event]) -> None:
    head = run_state.fold(log)
    refusal = refused_settlement(head=head, intent=None)
    assert refusal.code == "wrong_state"
    assert R in refusal.message
    assert head.state.value in refusal.message


def test_a_second_settlement_is_refused() -> None:
    head = run_state.fold([started(), intent_of(), completed(1, OUTPUT)])
    assert refused_settlement(head=head).code == "wrong_state"


# --- the end of a run ------------------------------------------------------------------------------------------------


def abandon(log: list[Event], reason: str | None = None) -> ledger.CallDecision:
    head = run_state.fold(log)
    intent = None if head.pending_seq is None else log[head.pending_seq]
    return ledger.decide_abandonment(head, run_id=R, reason=reason, intent=intent)


def test_abandoning_over_an_open_write_names_it() -> None:
    decision = abandon([started(), intent_of()], "customer withdrew")
    assert decision.event.payload == {
        "reason": "customer withdrew",
        "unresolved_write": {"seq": 1, "tool": "refund_card"},
    }
    assert decision.head.state is RunState.ABANDONED


@pytest.mark.parametrize(
    "log",
    [
        [started()],
        [started(), SUSPENDED],
        [started(), SLEEP],
        [started(), model_intent(1)],
        [started(), intent_of(replace(TOOL, effect=Effect.READ))],
    ],
)
def test_every_unfinished_run_can_be_abandoned_without_an_unresolved_write(log: list[Event]) -> None:
    assert abandon(log).event.payload == {}
    assert abandon(log, "").event.payload == {"reason": ""}


def test_what_has_ended_or_never_begun_is_not_abandoned() -> None:
    for log, code in (([], "unknown_run"), ([started(), Event(Kind.RUN_FAILED, {"error": "e"})], "wrong_state")):
        with pytest.raises(Refusal) as caught:
            abandon(log)
        assert caught.value.code == code


def test_a_runtimes_token_settles_nothing_and_abandons_no_open_write() -> None:
    open_write = run_state.fold([started(), intent_of()])
    for head, verb in ((open_write, "resolve"), (HEAD, "resolve"), (open_write, "abandon")):
        with pytest.raises(Refusal) as caught:
            ledger.refuse_runtime(head, run_id=R, verb=verb)
        assert caught.value.code == "client_completion_refused"
        assert "inbox" in caught.value.message
    ledger.refuse_runtime(HEAD, run_id=R, verb="abandon")
