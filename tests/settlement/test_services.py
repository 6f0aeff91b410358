"""Answering a call: what is written, what is refused, and that nothing moved when it was."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from salvor_admin.audit.models import Entry
from salvor_admin.domain.ledger import Failure
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role, Scope
from salvor_admin.domain.settling import JudgeBy, Outcome
from salvor_admin.ledger.models import Event, Intent, LeaseEnd, Run
from salvor_admin.outbox.models import Message
from salvor_admin.people.access import Actor
from salvor_admin.settlement import services
from salvor_admin.settlement.models import Case, Claim, Settlement
from salvor_admin.web.clock import database_now
from tests.people.factories import Cast
from tests.reviews.factories import refund_card
from tests.settlement.factories import INPUT, OUTPUT, a_driver, a_tool, a_waiting_call, the_runtime

pytestmark = pytest.mark.django_db


@pytest.fixture
def call(cast: Cast) -> Intent:
    a_tool(cast)
    return a_waiting_call(cast)


@pytest.fixture
def bo(cast: Cast) -> Actor:
    cast.roles = {**cast.roles, "bo": ["settler"]}
    return cast.actor("bo")


def settle(intent: Intent, actor: Actor, **changes: Any) -> Settlement:
    arguments: dict[str, Any] = {"outcome": Outcome.LANDED, "output": OUTPUT, "reason": "Seen at the provider."}
    return services.settle_call(intent_id=intent.pk, actor=actor, **(arguments | changes))


def everything() -> list[Any]:
    return [
        list(model.objects.values().order_by(key))
        for model, key in (
            (Event, "recorded_at"), (Intent, "id"), (Run, "id"), (Case, "id"), (Claim, "id"), (Settlement, "id"),
            (Entry, "id"), (Message, "id"),
        )
    ]  # fmt: skip


def refused(code: str, verb: Any, *arguments: Any, **more: Any) -> Refusal:
    before = everything()
    with pytest.raises(Refusal) as caught:
        verb(*arguments, **more)
    assert caught.value.code == code
    assert everything() == before
    return caught.value


def events_of(intent: Intent) -> list[tuple[int, str, Any]]:
    rows = Event.objects.filter(run=intent.run).order_by("seq")
    return [(row.seq, row.kind, json.loads(row.payload)) for row in rows]


# --- landed and failed -----------------------------------------------------------------------------------------------


def test_a_landed_call_is_completed_as_the_operator_said(call: Intent, noor: Actor) -> None:
    settlement = settle(call, noor, reason_code="seen_at_provider")
    assert events_of(call)[-1] == (2, "ToolCallCompleted", {"seq": 1, "output": OUTPUT, "settled_by": "operator"})
    call.refresh_from_db()
    case = Case.objects.get(intent=call)
    assert (call.standing, case.state, settlement.appended_seq) == ("settled", "settled_landed", 2)
    assert (settlement.outcome, settlement.reason_code, settlement.via) == ("landed", "seen_at_provider", "page")
    assert settlement.output == '{"amount_cents":5000,"provider_refund_id":"re_3PqT81Kd9f"}'
    assert settlement.judged_by_id == call.revision_id
    assert case.decided_at == settlement.settled_at


def test_a_settlement_is_audited_and_told(call: Intent, noor: Actor) -> None:
    settle(call, noor)
    entry = Entry.objects.order_by("-number")[0]
    assert (entry.action, entry.actor_name) == ("case.settled", "noor")
    assert '"outcome":"landed"' in entry.text and '"appended_seq":2' in entry.text
    assert Message.objects.filter(topic="case.settled").count() == 1


def test_a_failed_call_is_completed_with_the_failure_sentinel(call: Intent, noor: Actor) -> None:
    settle(call, noor, outcome=Outcome.FAILED, output=services.ABSENT, error=Failure("card declined"))
    sentinel = {"__salvor_error": {"attempts": 1, "is_error": True, "kind": "handler", "message": "card declined"}}
    assert events_of(call)[-1][2]["output"] == sentinel
    assert Case.objects.get(intent=call).state == "settled_failed"
    assert Settlement.objects.get().judged_by_id is None
    assert Run.objects.get(pk=call.run_id).state == "running"


def test_an_answer_ends_the_claim_it_was_given_under(call: Intent, noor: Actor) -> None:
    claim = services.claim_case(intent_id=call.pk, actor=noor)
    settle(call, noor, claim_id=claim.pk)
    assert Claim.objects.get().how == "decided"


def test_numbers_are_recorded_as_they_were_spelt(cast: Cast, noor: Actor) -> None:
    a_tool(cast, require_equal=None, idempotency_key=None)
    call = a_waiting_call(cast, report={"amount_cents": "x"})
    settle(call, noor, output={"provider_refund_id": "r", "amount_cents": 18446744073709551615, "n": 1.0})
    stored = Event.objects.get(run=call.run, seq=2).payload
    assert '"amount_cents":18446744073709551615,"n":1.0' in stored


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ({"amount_cents": 4800, "provider_refund_id": "re_1"}, "amount_cents"),
        ({"amount_cents": 5000.0, "provider_refund_id": "re_1"}, "amount_cents"),
        ({"amount_cents": 5000}, "provider_refund_id"),
        ("done", "output_schema"),
        (None, "output_schema"),
    ],
)
def test_an_output_that_does_not_fit_is_refused(call: Intent, noor: Actor, output: Any, why: str) -> None:
    assert why in refused("bad_request", settle, call, noor, output=output).message


@pytest.mark.parametrize(
    "wrong",
    [
        {"output": services.ABSENT},
        {"error": Failure("no")},
        {"outcome": Outcome.FAILED},
        {"outcome": Outcome.FAILED, "output": services.ABSENT, "error": Failure("x", "odd kind")},
        {"outcome": Outcome.STILL_UNKNOWN},
        {"reason": "  "},
        {"reason": "x" * 4001},
        {"reason": "a\0b"},
        {"reason_code": "because"},
    ],
)
def test_an_answer_that_says_too_little_or_something_odd_is_refused(
    call: Intent, noor: Actor, wrong: dict[str, Any]
) -> None:
    refused("bad_request", settle, call, noor, **wrong)


def test_only_v1_has_no_reason(call: Intent, noor: Actor) -> None:
    settlement = settle(call, noor, reason=None)
    assert (settlement.reason, settlement.reason_code) == ("", "")


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.SETTLER])
def test_only_a_settler_answers(call: Intent, cast: Cast, role: Role) -> None:
    cast.roles = {**cast.roles, "eve": [role.value]}
    refused("not_allowed", settle, call, cast.actor("eve"))


def test_a_right_that_was_taken_away_meanwhile_is_gone(call: Intent, noor: Actor, root: Actor) -> None:
    from salvor_admin.people import services as people

    people.change_roles(person_id=noor.person_id, roles=["viewer"], actor=root)
    refused("not_allowed", settle, call, noor)


def test_a_token_without_decide_answers_nothing(call: Intent, noor: Actor) -> None:
    reading = Actor(noor.person, noor.workspace, noor.roles, via="api", scope=Scope.READ)
    refused("not_allowed", settle, call, reading)


def test_another_workspaces_call_looks_missing(call: Intent, kim: Actor) -> None:
    refused("not_found", settle, call, kim)


# --- two answers -----------------------------------------------------------------------------------------------------


def test_the_second_answer_is_told_who_was_first_and_when(call: Intent, noor: Actor, bo: Actor) -> None:
    first = settle(call, noor)
    refusal = refused("wrong_state", settle, call, bo)
    assert refusal.details == {
        "state": "settled_landed", "by": "Noor Haddad", "at": first.settled_at.isoformat(),
    }  # fmt: skip
    assert "Noor Haddad was first" in refusal.message


def test_the_clients_own_report_that_came_first_is_told(cast: Cast, noor: Actor) -> None:
    a_tool(cast)
    driver = a_driver(the_runtime(cast))
    call = driver.ask()
    assert driver.report(OUTPUT) is None
    refusal = refused("wrong_state", settle, call, noor)
    assert refusal.details["state"] == "closed_by_client" and "client's own report" in refusal.message


def test_a_foreign_holder_is_named(call: Intent, noor: Actor, bo: Actor) -> None:
    services.claim_case(intent_id=call.pk, actor=noor)
    for verb in (settle, lambda call, bo: services.abandon_call(intent_id=call.pk, actor=bo, reason="x")):
        assert refused("wrong_state", verb, call, bo).details["holder"] == "Noor Haddad"


def test_an_answer_under_a_lapsed_claim_is_refused_though_nobody_holds_the_case(call: Intent, noor: Actor) -> None:
    claim = services.claim_case(intent_id=call.pk, actor=noor)
    day = timedelta(days=1)
    Claim.objects.update(claimed_at=F("claimed_at") - day, lapses_at=F("lapses_at") - day)
    refusal = refused("wrong_state", settle, call, noor, claim_id=claim.pk)
    assert "nobody holds the case now" in refusal.message


def test_an_answer_under_a_lapsed_claim_names_who_holds_the_case_now(call: Intent, noor: Actor, bo: Actor) -> None:
    claim = services.claim_case(intent_id=call.pk, actor=noor)
    day = timedelta(days=1)
    Claim.objects.update(claimed_at=F("claimed_at") - day, lapses_at=F("lapses_at") - day)
    services.claim_case(intent_id=call.pk, actor=bo)
    assert refused("wrong_state", settle, call, noor, claim_id=claim.pk).details["holder"] == "bo"


def test_an_answer_under_an_old_claim_is_refused_though_its_writer_holds_the_case_anew(
    call: Intent, noor: Actor, bo: Actor
) -> None:
    old = services.claim_case(intent_id=call.pk, actor=noor)
    services.hand_over_case(intent_id=call.pk, actor=noor, to="bo")
    services.release_case(intent_id=call.pk, actor=bo)
    new = services.claim_case(intent_id=call.pk, actor=noor)
    assert "you hold the case by a newer one" in refused("wrong_state", settle, call, noor, claim_id=old.pk).message
    assert settle(call, noor, claim_id=new.pk).person_id == noor.person_id


# --- the driver ------------------------------------------------------------------------------------------------------


def test_while_a_driver_holds_the_run_the_page_must_say_so(cast: Cast, noor: Actor) -> None:
    a_tool(cast)
    call = a_waiting_call(cast, attached=True)
    refusal = refused("wrong_state", settle, call, noor, driver_attached_ok=False)
    assert refusal.details == {"driver": "attached"} and "checkout-eu-2" in refusal.message
    settle(call, noor, driver_attached_ok=True)
    assert LeaseEnd.objects.get(run=call.run).how == "dropped"
    assert bytes(Run.objects.get(pk=call.run_id).lease_hash or b"") == b""


# --- will not happen, still unknown ----------------------------------------------------------------------------------


def test_will_not_happen_ends_the_whole_run_and_names_the_open_write(call: Intent, noor: Actor) -> None:
    settlement = services.abandon_call(intent_id=call.pk, actor=noor, reason="The customer withdrew.")
    assert events_of(call)[-1] == (
        2,
        "RunAbandoned",
        {"reason": "The customer withdrew.", "unresolved_write": {"seq": 1, "tool": "refund_card"}},
    )
    assert (settlement.outcome, settlement.appended_seq, settlement.output) == ("will_not_happen", 2, None)
    assert Case.objects.get(intent=call).state == "abandoned"
    assert Entry.objects.order_by("-number")[0].action == "case.abandoned"


def test_still_unknown_writes_nothing_to_the_run_and_comes_back(call: Intent, noor: Actor) -> None:
    services.claim_case(intent_id=call.pk, actor=noor)
    later = database_now() + timedelta(hours=2)
    before = events_of(call)
    services.leave_unknown(intent_id=call.pk, actor=noor, reason="The provider is down.", look_again_at=later)
    call.refresh_from_db()
    case = Case.objects.get(intent=call)
    assert events_of(call) == before
    assert (call.standing, call.waits_at, case.state, case.look_again_at) == ("open", later, "waiting", later)
    assert Claim.objects.get().how == "decided"
    assert Entry.objects.order_by("-number")[0].action == "case.still_unknown"
    assert settle(call, noor).outcome == "landed"


@pytest.mark.parametrize("ahead", [timedelta(0), timedelta(days=-1), timedelta(days=91)])
def test_look_again_is_a_time_to_come_and_not_far_off(call: Intent, noor: Actor, ahead: timedelta) -> None:
    at = database_now() + ahead
    refused("bad_request", services.leave_unknown, intent_id=call.pk, actor=noor, reason="x", look_again_at=at)


# --- which revision judges -------------------------------------------------------------------------------------------


def test_a_call_may_be_judged_by_the_live_revision_and_that_is_recorded(cast: Cast, noor: Actor) -> None:
    wrong = refund_card()["output_schema"] | {"required": ["amount_cents", "provider_refund_id", "unheard_of"]}
    a_tool(cast, output_schema=wrong)
    call = a_waiting_call(cast, report={"amount_cents": 5000})
    a_tool(cast)
    refused("bad_request", settle, call, noor)
    settlement = settle(call, noor, judge_by=JudgeBy.LIVE)
    assert settlement.judged_by_id != call.revision_id
    assert '"judge_by":"live"' in Entry.objects.order_by("-number")[0].text


@pytest.mark.parametrize("effect", ["read", "idempotent"])
def test_a_page_settles_calls_of_every_effect_which_v1_does_not(cast: Cast, noor: Actor, effect: str) -> None:
    a_tool(cast, effect=effect)
    call = a_waiting_call(cast)
    refused("wrong_state", settle, call, noor, only_writes=True)
    assert settle(call, noor).outcome == "landed"


def test_the_input_is_what_was_asked(call: Intent) -> None:
    assert events_of(call)[1][2]["input"] == INPUT
