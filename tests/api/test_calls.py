"""Calls that wait, read and answered through `/api`."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from salvor_admin.audit.models import Entry
from salvor_admin.domain.ledger import Failure
from salvor_admin.ledger.models import Event, Intent, Run
from salvor_admin.people.access import Actor
from salvor_admin.settlement.models import Case, Claim, Settlement
from salvor_admin.web.clock import database_now
from tests.api.callers import Caller, as_person, as_runtime, queries, told
from tests.people.factories import Cast
from tests.races import ROUNDS, THREADS, at_once
from tests.runtimes.factories import a_runtime
from tests.settlement.factories import INPUT, OUTPUT, a_driver, a_tool, a_waiting_call, the_runtime

pytestmark = pytest.mark.django_db

CALLS = "/api/calls/"
LANDED = {"outcome": "landed", "output": OUTPUT, "reason": "Seen at the provider."}
FAILED = {
    "outcome": "failed",
    "error": {"message": "The card was closed.", "kind": "handler"},
    "reason": "Told by them.",
}


@pytest.fixture
def call(cast: Cast) -> Intent:
    a_tool(cast)
    return a_waiting_call(cast)


@pytest.fixture
def noors(noor: Actor) -> Caller:
    return as_person(noor)


@pytest.fixture
def bo(cast: Cast) -> Actor:
    cast.roles = {**cast.roles, "bo": ["settler"]}
    return cast.actor("bo")


def path(call: Intent, verb: str = "") -> str:
    return f"{CALLS}{call.pk}/{verb and verb + '/'}"


def everything() -> list[Any]:
    """Everything a refusal must leave as it was."""
    return [
        list(model.objects.order_by(*order).values_list())
        for model, order in (
            (Event, ("run_id", "seq")),
            (Intent, ("pk",)),
            (Run, ("pk",)),
            (Case, ("pk",)),
            (Claim, ("pk",)),
            (Settlement, ("pk",)),
        )
    ]


def ids(caller: Caller, query: str = "") -> list[str]:
    return [row["id"] for row in caller.get(CALLS + query).json()["results"]]


# --- reading ---------------------------------------------------------------------------------------------------------


def test_a_call_reads_as_documented(call: Intent, noors: Caller) -> None:
    body = noors.get(path(call)).json()
    report = call.reports.get()
    due_at = call.waits_at + timedelta(hours=4)
    assert body == {
        "id": str(call.pk),
        "kind": "unsettled",
        "state": "waiting",
        "run": str(call.run.run_id),
        "seq": call.seq,
        "tool": "refund_card",
        "effect": "write",
        "input": INPUT,
        "idempotency_key": call.idempotency_key,
        "revision": 1,
        "publication": 1,
        "runtime": "checkout-eu-2",
        "waits_at": spelt(call.waits_at),
        "due_at": spelt(due_at),
        "holder": None,
        "driver": "none",
        "reports": [
            {
                "at": spelt(report.received_at),
                "refused": "client_completion_refused",
                "output": {"provider_refund_id": "re_1", "amount_cents": 4800},
            }
        ],
        "settlement": None,
    }


def spelt(moment: Any) -> str:
    return str(moment.strftime("%Y-%m-%dT%H:%M:%S.%f")) + "Z"


def test_a_list_row_is_the_single_read_less_its_reports(call: Intent, noors: Caller) -> None:
    single = noors.get(path(call)).json()
    del single["reports"]
    assert noors.get(CALLS).json() == {"results": [single], "next": None}


def test_a_reported_error_is_shown_as_one_and_reports_come_in_their_order(cast: Cast, noors: Caller) -> None:
    a_tool(cast, trust_completion=False, require_equal=None)
    driver = a_driver(the_runtime(cast))
    call = driver.ask()
    for answer in (Failure("No such card.", "gone"), OUTPUT):
        assert driver.report(answer, seq=call.seq) == "client_completion_refused"
    shown = [
        {name: report.get(name) for name in ("output", "error")} for report in noors.get(path(call)).json()["reports"]
    ]
    assert shown == [
        {"output": None, "error": {"message": "No such card.", "kind": "gone"}},
        {"output": OUTPUT, "error": None},
    ]


def test_an_attached_driver_is_told(cast: Cast, noors: Caller) -> None:
    a_tool(cast)
    assert noors.get(path(a_waiting_call(cast, attached=True))).json()["driver"] == "attached"


def test_the_input_keeps_its_spelling(cast: Cast, noors: Caller) -> None:
    a_tool(cast, input_schema={"type": "object", "required": ["amount_cents", "order_id"]})
    call = a_waiting_call(cast, input={"amount_cents": 5000, "order_id": "x", "rate": 1.0, "big": 18446744073709551615})
    for answer in (noors.get(path(call)), noors.get(CALLS)):
        assert b'"input":{"amount_cents":5000,"big":18446744073709551615,"order_id":"x","rate":1.0}' in answer.content


def test_the_list_is_what_waits_and_is_narrowed_by_state_tool_runtime_and_run(
    cast: Cast, noors: Caller, bo: Actor
) -> None:
    a_tool(cast)
    a_tool(cast, name="wire_payout", trust_completion=False, require_equal=None)
    first, second = a_waiting_call(cast), a_waiting_call(cast, input={"order_id": "ORD-2", "amount_cents": 7})
    payout = a_driver(the_runtime(cast, "payouts-1")).ask("wire_payout")
    young = a_driver(the_runtime(cast)).ask(input={"order_id": "ORD-3", "amount_cents": 9})
    as_person(bo).post(path(second, "claim"))
    noors.post(path(first, "settle"), LANDED)
    assert set(ids(noors)) == {str(second.pk), str(payout.pk)}
    assert ids(noors, "?state=waiting") == [str(payout.pk)]
    assert ids(noors, "?state=claimed") == [str(second.pk)]
    assert ids(noors, "?state=decided") == [str(first.pk)]
    assert set(ids(noors, "?state=all")) == {str(row.pk) for row in (first, second, payout, young)}
    assert ids(noors, "?tool=wire_payout") == [str(payout.pk)]
    assert ids(noors, "?runtime=checkout-eu-2") == [str(second.pk)]
    assert ids(noors, f"?run={young.run.run_id}") == [str(young.pk)]
    assert ids(noors, "?kind=held") == []
    assert set(ids(noors, "?kind=unsettled")) == {str(second.pk), str(payout.pk)}


def test_pages_of_calls_follow_each_other(cast: Cast, noors: Caller, root: Actor) -> None:
    a_tool(cast)
    wanted = [str(a_waiting_call(cast, input={"order_id": f"ORD-{n}", "amount_cents": 5}).pk) for n in range(3)]
    for caller in (noors, as_runtime(a_runtime(admin=root, name="reader"))):
        seen, at = [], CALLS + "?limit=2"
        while at:
            page = caller.get(at).json()
            seen += [row["id"] for row in page["results"]]
            at = page["next"]
        assert seen == wanted


@pytest.mark.parametrize(
    ("query", "code", "place"),
    [
        ("?state=open", "bad_request", "state"),
        ("?kind=lost", "bad_request", "kind"),
        ("?run=7", "bad_request", "run"),
        ("?limit=1000", "bad_request", "limit"),
        ("?cursor=x", "bad_request", "cursor"),
        ("?tools=x", "unknown_field", "tools"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused_to_everybody(
    noors: Caller, root: Actor, query: str, code: str, place: str
) -> None:
    for caller in (noors, as_runtime(a_runtime(admin=root))):
        response = caller.get(CALLS + query)
        assert told(response) == (400, code)
        assert response.json()["error"]["details"]["place"] == place
        root.workspace.runtimes.update(name=uuid4())


def test_the_same_calls_are_not_sent_twice(call: Intent, noors: Caller, root: Actor) -> None:
    runtime = as_runtime(a_runtime(admin=root))
    for caller in (noors, runtime):
        for at in (CALLS, path(call)):
            tag = caller.get(at)["ETag"]
            assert caller.get(at, If_None_Match=tag).status_code == 304
    held = noors.get(path(call))["ETag"]
    noors.post(path(call, "claim"))
    assert noors.get(path(call), If_None_Match=held).status_code == 200


def test_calls_cost_the_same_for_one_and_for_ten(cast: Cast, noors: Caller, root: Actor) -> None:
    a_tool(cast)
    runtime = as_runtime(a_runtime(admin=root))
    callers, addresses = (noors, runtime), (CALLS, CALLS + "?state=all")

    def a_call(number: int) -> Intent:
        made = a_waiting_call(cast, input={"order_id": f"ORD-{number}", "amount_cents": 5})
        noors.post(path(made, "claim"))
        return made

    a_call(0)
    one = [queries(caller, at) for caller in callers for at in addresses]
    for number in range(1, 10):
        a_call(number)
    assert [queries(caller, at) for caller in callers for at in addresses] == one
    assert one[2:] == [4, 4]  # token, clock, calls, claims


def test_one_call_costs_the_same_with_one_report_and_with_ten(cast: Cast, noors: Caller) -> None:
    a_tool(cast)
    driver = a_driver(the_runtime(cast))
    call = driver.ask()
    driver.report({"provider_refund_id": "re_1", "amount_cents": 1}, seq=call.seq)
    one = queries(noors, path(call))
    for number in range(9):
        driver.report({"provider_refund_id": "re_1", "amount_cents": number + 2}, seq=call.seq)
    assert len(noors.get(path(call)).json()["reports"]) == 10
    assert queries(noors, path(call)) == one


# --- what a runtime sees ---------------------------------------------------------------------------------------------


def test_a_runtime_sees_where_a_call_stands_and_nothing_that_people_wrote(
    call: Intent, noors: Caller, root: Actor
) -> None:
    runtime = as_runtime(a_runtime(admin=root))
    noors.post(path(call, "claim"))
    shown = {
        "id": str(call.pk),
        "kind": "unsettled",
        "state": "claimed",
        "run": str(call.run.run_id),
        "seq": call.seq,
        "tool": "refund_card",
    }
    assert runtime.get(path(call)).json() == shown
    assert runtime.get(CALLS).json() == {"results": [shown], "next": None}
    noors.post(path(call, "settle"), LANDED)
    answers = [
        runtime.get(at).content for at in (path(call), CALLS + "?state=decided", f"{CALLS}?run={call.run.run_id}")
    ]
    assert all(b'"state":"settled_landed"' in answer for answer in answers)
    assert not any(word in answer for word in (b"noor", b"Noor", b"provider") for answer in answers)
    assert runtime.get(CALLS).json()["results"] == []


def test_a_runtimes_token_answers_nothing(call: Intent, root: Actor) -> None:
    runtime = as_runtime(a_runtime(admin=root))
    before = everything()
    verbs = {"claim": {}, "release": {}, "settle": LANDED, "abandon": {"reason": "x"}, "unknown": {"reason": "x"}}
    answers = {verb: told(runtime.post(path(call, verb), body)) for verb, body in verbs.items()}
    assert answers == dict.fromkeys(verbs, (403, "not_allowed"))
    assert everything() == before


# --- walls and rights ------------------------------------------------------------------------------------------------


def bodies() -> dict[str, dict[str, Any]]:
    later = spelt(database_now() + timedelta(hours=1))
    return {
        "claim": {},
        "release": {},
        "settle": LANDED,
        "abandon": {"reason": "Cancelled."},
        "unknown": {"reason": "No answer yet.", "look_again_at": later},
    }


def test_another_workspaces_call_is_not_there(call: Intent, kim: Actor) -> None:
    strangers = (as_person(kim), as_runtime(a_runtime(admin=kim)))
    before = everything()
    for stranger in strangers:
        assert told(stranger.get(path(call))) == (404, "not_found")
        assert stranger.get(CALLS + "?state=all").json()["results"] == []
    answers = {verb: told(strangers[0].post(path(call, verb), body)) for verb, body in bodies().items()}
    assert answers == dict.fromkeys(bodies(), (404, "not_found"))
    assert told(strangers[0].get(f"{CALLS}{uuid4()}/")) == (404, "not_found")
    assert everything() == before


def test_only_a_settler_answers(call: Intent, ada: Actor, grace: Actor, pat: Actor, root: Actor, noor: Actor) -> None:
    before = everything()
    for actor in (ada, grace, pat, root):
        caller = as_person(actor)
        assert caller.get(path(call)).status_code == 200
        for verb, body in bodies().items():
            response = caller.post(path(call, verb), body)
            assert told(response) == (403, "not_allowed")
            assert "noor" in response.json()["error"]["message"]
    assert everything() == before


@pytest.mark.parametrize("scope", ["read", "draft"])
def test_a_token_that_does_not_decide_answers_nothing(call: Intent, noor: Actor, scope: str) -> None:
    caller = as_person(noor, scope)
    before = everything()
    assert caller.get(path(call)).status_code == 200
    answers = {told(caller.post(path(call, verb), body)) for verb, body in bodies().items()}
    assert answers == {(403, "not_allowed")}
    assert everything() == before


# --- claiming --------------------------------------------------------------------------------------------------------


def test_a_claim_is_told_and_released(call: Intent, noors: Caller) -> None:
    claimed = noors.post(path(call, "claim"))
    assert (claimed.status_code, claimed.json()["state"], claimed.json()["holder"]) == (200, "claimed", "noor")
    entry = Entry.objects.order_by("-number")[0]
    assert (entry.action, entry.via) == ("case.claimed", "api")
    released = noors.post(path(call, "release"))
    assert (released.status_code, released.json()["state"], released.json()["holder"]) == (200, "waiting", None)


def test_a_second_settler_is_told_who_holds_it(call: Intent, noors: Caller, bo: Actor) -> None:
    noors.post(path(call, "claim"))
    before = everything()
    other = as_person(bo)
    for verb, body in bodies().items():
        response = other.post(path(call, verb), body)
        assert told(response) == (409, "wrong_state")
        assert response.json()["error"]["details"]["holder"] == "Noor Haddad"
    assert everything() == before


def test_a_lapsed_claim_holds_nobody_back(call: Intent, noors: Caller, bo: Actor) -> None:
    noors.post(path(call, "claim"))
    now = database_now()
    Claim.objects.update(claimed_at=now - timedelta(hours=1), lapses_at=now - timedelta(seconds=1))
    assert noors.get(path(call)).json()["state"] == "waiting"
    assert as_person(bo).post(path(call, "claim")).json()["holder"] == "bo"


@pytest.mark.parametrize("verb", ["claim", "release"])
def test_claiming_takes_no_member(call: Intent, noors: Caller, verb: str) -> None:
    before = everything()
    assert told(noors.post(path(call, verb), {"force": True})) == (400, "unknown_field")
    assert everything() == before


# --- answers ---------------------------------------------------------------------------------------------------------


def test_a_call_that_landed_is_settled_and_read_again_from_the_ledger(call: Intent, noors: Caller) -> None:
    response = noors.post(path(call, "settle"), {**LANDED, "reason_code": "seen_at_provider"})
    event = Event.objects.get(run=call.run, seq=call.seq + 1)
    assert response.status_code == 200
    assert response.json() == {
        "run": str(call.run.run_id),
        "seq": call.seq,
        "appended_seq": call.seq + 1,
        "recorded_at": spelt(event.recorded_at),
        "state": "settled_landed",
    }
    assert json.loads(event.payload)["output"] == OUTPUT
    settlement = noors.get(path(call)).json()["settlement"]
    settled_at = settlement.pop("at")
    assert settled_at.endswith("Z")
    assert settlement == {
        "outcome": "landed",
        "by": "noor",
        "reason": "Seen at the provider.",
        "reason_code": "seen_at_provider",
        "output": OUTPUT,
        "appended_seq": call.seq + 1,
        "judged_by_revision": 1,
    }
    assert Settlement.objects.get().via == "api"


def test_a_call_that_failed_lets_the_run_go_on(call: Intent, noors: Caller) -> None:
    assert noors.post(path(call, "settle"), FAILED).json()["state"] == "settled_failed"
    assert noors.get(path(call)).json()["settlement"]["outcome"] == "failed"


def test_what_will_not_happen_retires_the_run(call: Intent, noors: Caller) -> None:
    response = noors.post(path(call, "abandon"), {"reason": "Cancelled by the customer."})
    assert (response.status_code, response.json()["state"], response.json()["appended_seq"]) == (
        200,
        "abandoned",
        call.seq + 1,
    )
    assert Event.objects.get(run=call.run, seq=call.seq + 1).kind == "RunAbandoned"


def test_what_nobody_knows_yet_comes_back_at_its_time(call: Intent, noors: Caller) -> None:
    later = database_now() + timedelta(hours=2)
    response = noors.post(path(call, "unknown"), {"reason": "They answer tomorrow.", "look_again_at": spelt(later)})
    body = response.json()
    assert (response.status_code, body["state"], body["waits_at"], body["settlement"]) == (
        200,
        "waiting",
        spelt(later),
        None,
    )
    assert ids(noors) == []


def test_a_second_answer_is_told_who_was_first(call: Intent, noors: Caller, bo: Actor) -> None:
    noors.post(path(call, "settle"), LANDED)
    before = everything()
    for verb, body in bodies().items():
        if verb != "release":
            response = as_person(bo).post(path(call, verb), body)
            assert told(response) == (409, "wrong_state")
            assert response.json()["error"]["details"]["state"] == "settled_landed"
    assert everything() == before


def test_the_live_revision_judges_where_the_settler_says_so(cast: Cast, noors: Caller) -> None:
    a_tool(cast)
    call = a_waiting_call(cast)
    a_tool(cast, output_schema={"type": "object", "required": ["amount_cents"]})
    short = {**LANDED, "output": {"amount_cents": 5000}}
    assert told(noors.post(path(call, "settle"), short)) == (422, "answer_unfit")
    assert noors.post(path(call, "settle"), {**short, "judge_by": "live"}).json()["state"] == "settled_landed"
    assert noors.get(path(call)).json()["settlement"]["judged_by_revision"] == 2


ENVELOPE = {"content": [{"type": "text", "text": "ok"}], "structuredContent": OUTPUT, "isError": False}
BAD_ANSWERS: list[tuple[str, Any, tuple[int, str], str | None]] = [
    ("settle", {}, (400, "bad_request"), "/outcome"),
    ("settle", [], (400, "bad_request"), ""),
    ("settle", {"outcome": "unknown"}, (400, "bad_request"), "/outcome"),
    ("settle", {"outcome": ["landed"]}, (400, "bad_request"), "/outcome"),
    ("settle", {"outcome": "landed", "reason": "x"}, (400, "bad_request"), "/output"),
    ("settle", {"outcome": "landed", "output": OUTPUT}, (400, "bad_request"), "/reason"),
    ("settle", {**LANDED, "reason": " "}, (422, "answer_unfit"), "reason"),
    ("settle", {**LANDED, "reason_code": "sure"}, (400, "bad_request"), "/reason_code"),
    ("settle", {**LANDED, "judge_by": "me"}, (400, "bad_request"), "/judge_by"),
    ("settle", {**LANDED, "error": {"message": "x"}}, (400, "unknown_field"), "/error"),
    ("settle", {**FAILED, "output": OUTPUT}, (400, "unknown_field"), "/output"),
    ("settle", {**FAILED, "judge_by": "live"}, (400, "unknown_field"), "/judge_by"),
    ("settle", {**FAILED, "error": {}}, (400, "bad_request"), "/error/message"),
    ("settle", {**FAILED, "error": "no"}, (400, "bad_request"), "/error"),
    ("settle", {**FAILED, "error": {"message": "x", "code": 1}}, (400, "unknown_field"), "/error/code"),
    ("settle", {**FAILED, "error": {"message": "x", "kind": "odd"}}, (422, "answer_unfit"), "error/kind"),
    ("settle", {**LANDED, "output": None}, (422, "answer_unfit"), "output"),
    ("settle", {**LANDED, "output": {**OUTPUT, "amount_cents": 4800}}, (422, "answer_unfit"), "output"),
    ("settle", {**LANDED, "output": {**OUTPUT, "amount_cents": 5000.0}}, (422, "answer_unfit"), "output"),
    ("settle", {**LANDED, "output": {"amount_cents": 5000}}, (422, "answer_unfit"), "output"),
    ("settle", {**LANDED, "output": ENVELOPE}, (422, "answer_unfit"), "output"),
    ("abandon", {}, (400, "bad_request"), "/reason"),
    ("abandon", {"reason": ""}, (422, "answer_unfit"), "reason"),
    ("abandon", {"reason": "x", "sure": True}, (400, "unknown_field"), "/sure"),
    ("unknown", {"reason": "x"}, (400, "bad_request"), "/look_again_at"),
    ("unknown", {"reason": "x", "look_again_at": "tomorrow"}, (400, "bad_request"), "/look_again_at"),
    ("unknown", {"reason": "x", "look_again_at": "2999-01-01T00:00:00"}, (400, "bad_request"), "/look_again_at"),
    ("unknown", {"reason": "x", "look_again_at": 5}, (400, "bad_request"), "/look_again_at"),
    ("unknown", {"reason": "x", "look_again_at": "2020-01-01T00:00:00Z"}, (422, "answer_unfit"), "look_again_at"),
    ("unknown", {"reason": "x", "look_again_at": "9999-12-31T23:59:59-23:59"}, (400, "bad_request"), "/look_again_at"),
]


@pytest.mark.parametrize(("verb", "body", "code", "place"), BAD_ANSWERS)
def test_an_answer_that_is_none_is_refused_at_its_place(
    call: Intent, noors: Caller, verb: str, body: Any, code: tuple[int, str], place: str
) -> None:
    before = everything()
    response = noors.post(path(call, verb), body)
    assert told(response) == code
    assert response.json()["error"]["details"]["place"] == place
    assert everything() == before


# --- several at once -------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_of_several_settlers_at_once_one_wins_and_the_others_learn_who(cast: Cast) -> None:
    cast.roles = {**cast.roles, **{f"settler{n}": ["settler"] for n in range(THREADS)}}
    callers = [as_person(cast.actor(f"settler{n}")) for n in range(THREADS)]
    a_tool(cast)
    for number in range(ROUNDS):
        call = a_waiting_call(cast, input={"order_id": f"ORD-{number}", "amount_cents": 5000})
        answers = at_once(
            *[
                partial(caller.post, path(call, "abandon" if place % 2 else "settle"), body)
                for place, caller in enumerate(callers)
                for body in [{"reason": "Cancelled."} if place % 2 else LANDED]
            ]
        )
        statuses = sorted(answer.status_code for answer in answers)  # type: ignore[union-attr]
        assert statuses == [200] + [409] * (THREADS - 1)
        assert Event.objects.filter(run=call.run, seq__gt=call.seq).count() == 1
        assert Settlement.objects.filter(case__intent=call).count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_several_claims_at_once_one_holds(cast: Cast) -> None:
    cast.roles = {**cast.roles, **{f"settler{n}": ["settler"] for n in range(THREADS)}}
    callers = [as_person(cast.actor(f"settler{n}")) for n in range(THREADS)]
    a_tool(cast)
    for number in range(ROUNDS):
        call = a_waiting_call(cast, input={"order_id": f"ORD-{number}", "amount_cents": 5000})
        answers = at_once(*[partial(caller.post, path(call, "claim")) for caller in callers])
        statuses = sorted(answer.status_code for answer in answers)  # type: ignore[union-attr]
        assert statuses == [200] + [409] * (THREADS - 1)
        assert Claim.objects.filter(case__intent=call, ended_at__isnull=True).count() == 1
