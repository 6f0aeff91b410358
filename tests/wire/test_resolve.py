"""What people decide on `/v1`: contract 6.10, 6.13, 6.14; design section 6 rule 11."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from salvor_admin.audit.models import Entry
from salvor_admin.ledger.models import Event, Intent, LeaseEnd
from salvor_admin.people import services as people
from salvor_admin.people.models import Workspace
from salvor_admin.settlement import services as settlement
from salvor_admin.settlement.models import Case, Settlement
from tests.people.factories import Cast
from tests.races import ROUNDS, THREADS, at_once
from tests.settlement.factories import INPUT, OUTPUT, a_tool
from tests.wire.peer import Driven, Peer, a_peer

pytestmark = pytest.mark.django_db


@pytest.fixture
def waiting(run: Driven, cast: Cast) -> Driven:
    """A run with an open write that its client may not close."""
    a_tool(cast, trust_completion=False)
    assert run.intent(INPUT).status == 200
    return run


def a_token_of(cast: Cast, name: str, scope: str = "decide") -> Peer:
    actor = cast.actor(name)
    lives = timedelta(hours=1)
    return Peer(people.create_personal_token(person=actor.person, scope=scope, lives=lives, actor=actor).token)


def assert_unmoved(run: Driven) -> None:
    assert run.kinds == ["RunStarted", "ToolCallRequested"]
    assert Intent.objects.get().standing == "open"
    assert not Settlement.objects.exists()


def test_a_settlers_token_settles_the_call_and_drops_the_lease(waiting: Driven, noors: Peer) -> None:
    reply = noors.post(f"runs/{waiting.id}/resolve", {"output": OUTPUT})
    assert reply.json == {"run": waiting.id, "resolved": True, "status": {"state": "running"}}
    assert waiting.log[2]["event"]["payload"] == {"seq": 1, "output": OUTPUT, "settled_by": "operator"}
    assert waiting.post("heartbeat").refusal == (404, "unknown_run")
    assert waiting.detail["driver"] == "none"
    settled = Settlement.objects.select_related("person", "case").get()
    assert (settled.person.username, settled.case.state, settled.via) == ("noor", "settled_landed", "wire")
    assert Entry.objects.filter(action="case.settled").count() == 1
    assert LeaseEnd.objects.get().how == "dropped"


def test_the_driver_learns_of_it_by_asking_again(waiting: Driven, noors: Peer) -> None:
    noors.post(f"runs/{waiting.id}/resolve", {"output": OUTPUT})
    opened = waiting.peer.open(waiting.id, drive=waiting.drive)
    assert opened.status == 200
    again = Driven(waiting.peer, waiting.id, opened.json["drive_token"])
    reply = again.intent(INPUT, seq=1)
    assert (reply.json["settled"], reply.json["output"]) == (True, OUTPUT)


def test_a_runtimes_token_never_resolves(waiting: Driven) -> None:
    for path in (f"runs/{waiting.id}/resolve", f"client-runs/{waiting.id}/resolve"):
        reply = waiting.peer.post(path, {"output": OUTPUT}, drive=waiting.drive)
        assert reply.refusal == (403, "client_completion_refused")
        assert "inbox" in reply.message
        assert_unmoved(waiting)


def test_a_runtimes_token_abandons_no_run_with_an_open_write(waiting: Driven) -> None:
    reply = waiting.peer.post(f"runs/{waiting.id}/abandon")
    assert reply.refusal == (403, "client_completion_refused")
    assert "inbox" in reply.message
    assert_unmoved(waiting)


def test_a_runtimes_token_abandons_a_run_that_waits_for_no_write(run: Driven) -> None:
    reply = run.peer.post(f"runs/{run.id}/abandon", {"reason": "duplicate"})
    status = {"state": "abandoned", "reason": "duplicate"}
    assert reply.json == {"run": run.id, "abandoned": True, "appended_seq": 1, "status": status}
    assert run.post("heartbeat").status == 200


@pytest.mark.parametrize(
    ("name", "scope"), [("ada", "decide"), ("root", "decide"), ("noor", "draft"), ("noor", "read")]
)
def test_only_a_settlers_deciding_token_settles_and_abandons(
    waiting: Driven, cast: Cast, name: str, scope: str
) -> None:
    peer = a_token_of(cast, name, scope)
    assert peer.post(f"runs/{waiting.id}/resolve", {"output": OUTPUT}).refusal == (403, "not_allowed")
    assert peer.post(f"runs/{waiting.id}/abandon").refusal == (403, "not_allowed")
    assert_unmoved(waiting)


def test_a_case_that_somebody_else_holds_is_not_settled(waiting: Driven, cast: Cast, noors: Peer) -> None:
    people.change_roles(person_id=cast.actor("ada").person_id, roles=["author", "settler"], actor=cast.actor("root"))
    settlement.claim_case(intent_id=Intent.objects.get().pk, actor=cast.actor("ada"))
    for path in ("resolve", "abandon"):
        reply = noors.post(f"runs/{waiting.id}/{path}", {"output": OUTPUT})
        assert reply.refusal == (409, "wrong_state")
        assert "Ada" in reply.message
        assert_unmoved(waiting)


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        (b"not json", (400, "bad_request")),
        (b"", (400, "bad_request")),
        (b"{}", (400, "bad_request")),
        (b'{"output":{"amount_cents":5000}}', (400, "bad_request")),
        (b'{"output":{"amount_cents":5001,"provider_refund_id":"r"}}', (400, "bad_request")),
        (b'{"output":null}', (400, "bad_request")),
    ],
)
def test_what_a_person_enters_is_held_to_the_declaration(
    waiting: Driven, noors: Peer, body: bytes, refusal: tuple[int, str]
) -> None:
    assert noors.post(f"runs/{waiting.id}/resolve", body).refusal == refusal
    assert_unmoved(waiting)
    assert waiting.post("heartbeat").status == 200


def test_a_call_is_judged_by_its_own_revision_and_settled_though_its_tool_is_gone(
    waiting: Driven, cast: Cast, noors: Peer
) -> None:
    a_tool(cast, trust_completion=False, output_schema={"type": "array"}, require_equal=None)
    assert noors.post(f"runs/{waiting.id}/resolve", {"output": [1]}).refusal == (400, "bad_request")
    assert noors.post(f"runs/{waiting.id}/resolve", {"output": OUTPUT}).status == 200


def test_a_null_is_recorded_where_nothing_is_declared(run: Driven, cast: Cast, noors: Peer) -> None:
    a_tool(cast, trust_completion=False, output_schema=None, require_equal=None)
    run.intent(INPUT)
    assert noors.post(f"runs/{run.id}/resolve", {"output": None}).status == 200
    assert run.log[2]["event"]["payload"] == {"seq": 1, "output": None, "settled_by": "operator"}


def test_what_is_not_an_open_write_is_not_settled(run: Driven, cast: Cast, noors: Peer) -> None:
    assert noors.post(f"runs/{run.id}/resolve", {"output": 1}).refusal == (409, "wrong_state")
    assert noors.post("runs/00000000-0000-4000-8000-00000000dead/resolve", {"output": 1}).status == 404
    a_tool(cast, effect="read", name="stock_level")
    run.intent(INPUT, tool="stock_level")
    reply = noors.post(f"runs/{run.id}/resolve", {"output": OUTPUT})
    assert reply.refusal == (409, "wrong_state")
    assert "stock_level" in reply.message
    assert "next drive" in reply.message
    assert run.kinds == ["RunStarted", "ToolCallRequested"]


def test_the_drivers_resolve_takes_both_tokens_and_keeps_the_lease(waiting: Driven, noors: Peer) -> None:
    path = f"client-runs/{waiting.id}/resolve"
    assert noors.post(path, {"output": OUTPUT}).refusal == (401, "missing_drive_token")
    assert noors.post(path, {"output": OUTPUT}, drive="dt_x").refusal == (403, "invalid_drive_token")
    assert_unmoved(waiting)
    assert noors.post(path, {"output": OUTPUT}, drive=waiting.drive).json == {"run": waiting.id, "resolved": True}
    assert waiting.post("heartbeat").status == 200
    assert noors.post(path, {"output": OUTPUT}, drive=waiting.drive).refusal == (409, "wrong_state")


def test_a_settler_abandons_a_run_over_its_open_write_and_the_case_is_closed(waiting: Driven, noors: Peer) -> None:
    reply = noors.post(f"runs/{waiting.id}/abandon", {"reason": "customer withdrew"})
    write = {"seq": 1, "tool": "refund_card"}
    assert reply.json["status"] == {"state": "abandoned", "reason": "customer withdrew", "unresolved_write": write}
    assert Intent.objects.get().standing == "abandoned"
    assert Case.objects.get().state == "abandoned"
    assert waiting.detail["pending"]["seq"] == 1
    assert "driver" not in waiting.detail
    assert waiting.post("heartbeat").status == 200
    assert noors.post(f"runs/{waiting.id}/abandon").refusal == (409, "wrong_state")


@pytest.mark.parametrize(("body", "reason"), [(b"", None), (b"{}", None), (b'{"reason":null}', None)])
def test_abandoning_needs_no_reason(waiting: Driven, noors: Peer, body: bytes, reason: str | None) -> None:
    assert noors.post(f"runs/{waiting.id}/abandon", body).status == 200
    assert waiting.log[2]["event"]["payload"].get("reason") == reason


@pytest.mark.parametrize("reason", ["", "x" * 100_000, "a\0b"])
def test_any_text_is_a_reason_and_is_kept_as_it_is(waiting: Driven, noors: Peer, reason: str) -> None:
    assert noors.post(f"runs/{waiting.id}/abandon", {"reason": reason}).status == 200
    assert waiting.log[2]["event"]["payload"]["reason"] == reason


def test_abandoning_a_run_that_waits_for_nothing_stands_in_the_audit_trail(run: Driven, noors: Peer) -> None:
    assert noors.post(f"runs/{run.id}/abandon").status == 200
    assert Entry.objects.get(action="run.abandoned").subject_id == run.id


def test_a_run_of_another_workspace_looks_like_none(waiting: Driven, other_workspace: Workspace) -> None:
    kim = Cast(other_workspace, {"kim": ["settler"]}).actor("kim")
    lives = timedelta(hours=1)
    peer = Peer(people.create_personal_token(person=kim.person, scope="decide", lives=lives, actor=kim).token)
    assert peer.post(f"runs/{waiting.id}/resolve", {"output": OUTPUT}).refusal == (404, "unknown_run")
    assert peer.post(f"runs/{waiting.id}/abandon").refusal == (404, "unknown_run")
    assert peer.get(f"runs/{waiting.id}").refusal == (404, "unknown_run")
    assert_unmoved(waiting)


def race(workspace: Workspace, cast: Cast, *acts: tuple[str, Any]) -> tuple[Driven, list[Any]]:
    run = a_peer(workspace).run()
    run.intent(INPUT)
    noor = a_token_of(cast, "noor")
    return run, at_once(
        *[lambda what=what, body=body: Peer(noor.token).post(f"runs/{run.id}/{what}", body) for what, body in acts]
    )


@pytest.mark.django_db(transaction=True)
def test_of_many_settlements_one_is_recorded(workspace: Workspace, cast: Cast) -> None:
    a_tool(cast, trust_completion=False)
    for _ in range(ROUNDS):
        run, replies = race(workspace, cast, *[("resolve", {"output": OUTPUT})] * THREADS)
        assert sorted(reply.status for reply in replies) == [200] + [409] * (THREADS - 1)
        assert Event.objects.filter(run__run_id=run.id).count() == 3
        assert Settlement.objects.filter(case__intent__run__run_id=run.id).count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_settling_and_abandoning_at_once_one_is_recorded(workspace: Workspace, cast: Cast) -> None:
    a_tool(cast, trust_completion=False)
    half = THREADS // 2
    for _ in range(ROUNDS):
        acts = [("resolve", {"output": OUTPUT})] * half + [("abandon", {})] * half
        run, replies = race(workspace, cast, *acts)
        settled, abandoned = [r.status for r in replies[:half]], [r.status for r in replies[half:]]
        assert {200, 409} >= set(settled + abandoned)
        # Settled first, the run goes on: one that then finds it so may retire it, one that had seen the call is told.
        kinds = list(Event.objects.filter(run__run_id=run.id).order_by("seq").values_list("kind", flat=True))[2:]
        assert kinds in (["RunAbandoned"], ["ToolCallCompleted"], ["ToolCallCompleted", "RunAbandoned"])
        assert settled.count(200) == kinds.count("ToolCallCompleted")
        assert abandoned.count(200) == kinds.count("RunAbandoned")
