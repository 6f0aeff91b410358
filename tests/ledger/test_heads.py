"""The stored head is what folding the whole log gives, whatever was written and by whom."""

from __future__ import annotations

import random
from typing import Any

import pytest

from salvor_admin.domain import run_state
from salvor_admin.domain.settling import Outcome
from salvor_admin.ledger.models import Event, Intent, Run
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace
from salvor_admin.settlement import services as settlement
from tests.people.factories import Cast
from tests.settlement.factories import OUTPUT, a_tool
from tests.wire.peer import Driven, a_peer

pytestmark = pytest.mark.django_db
PLAIN: list[dict[str, Any]] = [
    {"kind": "NowObserved", "payload": {"now": "2026-03-04T10:15:30Z"}},
    {"kind": "Suspended", "payload": {"reason": "r", "input_schema": True}},
    {"kind": "Resumed", "payload": {"input": 1}},
    {"kind": "SleepStarted", "payload": {"wake_at": "2999-01-01T00:00:00Z"}},
    {"kind": "BudgetExceeded", "payload": {"budget": {"kind": "steps", "limit": 1}, "observed": 2}},
]
ENDS: list[dict[str, Any]] = [
    {"kind": "RunCompleted", "payload": {"output": 1}},
    {"kind": "RunFailed", "payload": {"error": "e"}},
    {"kind": "RunAbandoned", "payload": {}},
]


def assert_head_is_folded(run: Driven) -> None:
    row = Run.objects.get(run_id=run.id)
    log = list(Event.objects.filter(run=row).order_by("seq"))
    assert row.head == run_state.fold(event.as_domain() for event in log)
    assert [event.seq for event in log] == list(range(row.next_seq))
    times = [event.recorded_at for event in log]
    assert times == sorted(times)
    assert (row.first_recorded_at, row.last_recorded_at) == (times[0], times[-1])
    stays = row.head.state_seq is not None
    assert row.resting_state == (row.state if stays else None)


def step(run: Driven, dice: random.Random, order: int, noor: Actor) -> None:
    match dice.randrange(6):
        case 0:
            run.append(dice.choice(PLAIN))
        case 1:
            run.append(
                *dice.choices(PLAIN, k=3), {"kind": "SleepStarted", "payload": {"wake_at": "2020-01-01T00:00:00Z"}}
            )
            run.append({"kind": "SleepCompleted", "payload": {}})
        case 2:
            assert run.post("client-model-intent", {"seq": run.seq, "request_hash": "m"}).status == 200
            usage = {"input_tokens": dice.randrange(100), "output_tokens": 1}
            body = {"seq": run.seq, "response": None, "usage": usage}
            assert run.post("client-model-completion", body).status == 200
            run.seq += 2
        case 3:
            assert run.intent({"order_id": f"ORD-{order}", "amount_cents": 5000}).status == 200
            assert run.complete(OUTPUT).status == 200
        case 4:
            # Asked before, so it is answered from the record; or new, and reported as a failure.
            reply = run.intent({"order_id": f"ORD-{dice.randrange(order)}", "amount_cents": 5000})
            if not reply.json["settled"]:
                assert run.complete(error={"message": "m"}).status == 200
        case _:
            assert run.intent({"order_id": f"ORD-{order}", "amount_cents": 5000}).status == 200
            intent = Intent.objects.get(standing="open")
            settlement.settle_call(
                intent_id=intent.pk, actor=noor, outcome=Outcome.LANDED, output=OUTPUT, reason="Seen at the provider."
            )
            run.seq += 1
            run.drive = run.peer.open(run.id).json["drive_token"]


@pytest.mark.parametrize("seed", range(4))
def test_the_stored_head_is_the_fold_of_the_log(seed: int, workspace: Workspace, cast: Cast, noor: Actor) -> None:
    a_tool(cast)
    run, dice = a_peer(workspace).run(), random.Random(seed)
    for order in range(1, 15):
        step(run, dice, order, noor)
        assert_head_is_folded(run)
    run.append(dice.choice(ENDS))
    assert_head_is_folded(run)


def test_an_abandoned_run_keeps_its_open_call_in_the_head(workspace: Workspace, cast: Cast, noor: Actor) -> None:
    a_tool(cast)
    run = a_peer(workspace).run()
    run.intent({"order_id": "ORD-1", "amount_cents": 5000})
    settlement.abandon_call(intent_id=Intent.objects.get().pk, actor=noor, reason="Withdrawn.")
    assert_head_is_folded(run)
    assert Run.objects.get().pending_seq == 1
