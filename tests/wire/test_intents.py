"""Intents: contract 6.6 and 7; design section 5."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from salvor_admin.ledger.models import Event, Intent
from salvor_admin.people.models import Workspace
from salvor_admin.reviews import publishing
from salvor_admin.reviews.models import Document
from tests.people.factories import Cast
from tests.races import ROUNDS, THREADS, at_once
from tests.settlement.factories import INPUT, OUTPUT, a_tool
from tests.wire.peer import Driven, Peer, a_peer

pytestmark = pytest.mark.django_db


def test_an_intent_stands_beside_the_log_with_its_revision_and_publication(run: Driven, cast: Cast) -> None:
    a_tool(cast)
    reply = run.intent(INPUT)
    assert reply.json | {"idempotency_key": ""} == {
        "seq": 1,
        "effect": "write",
        "settled": False,
        "idempotency_key": "",
    }
    intent = Intent.objects.select_related("revision__document").get()
    assert (intent.tool, intent.effect, intent.standing) == ("refund_card", "write", "open")
    assert intent.idempotency_key == reply.json["idempotency_key"]
    assert intent.revision.document.key == "refund_card"
    assert intent.publication == 1
    assert intent.subject == '[["amount_cents","5000"],["order_id","\\"ORD-7781\\""]]'
    assert run.state == "needs_reconciliation"


def test_a_trusted_call_waits_after_the_workspaces_patience_and_an_untrusted_one_at_once(
    run: Driven, cast: Cast, workspace: Workspace
) -> None:
    a_tool(cast)
    a_tool(cast, name="wire_payout", trust_completion=False)
    run.intent(INPUT)
    trusted = Intent.objects.get()
    assert (trusted.waits_at - trusted.recorded_at).total_seconds() == workspace.patience_seconds
    assert trusted.listed_at is None
    other = run.peer.run()
    other.intent(INPUT, tool="wire_payout")
    untrusted = Intent.objects.get(tool="wire_payout")
    assert untrusted.waits_at == untrusted.recorded_at == untrusted.listed_at


def test_a_refused_intent_writes_nothing(run: Driven, refund_card: str) -> None:
    assert run.intent({"order_id": "O"}).refusal == (400, "bad_request")
    assert run.intent(INPUT, tool="unknown").refusal == (404, "unknown_tool")
    assert run.intent(INPUT, seq=7).refusal == (409, "divergence")
    assert run.kinds == ["RunStarted"]
    assert not Intent.objects.exists()


def test_an_intent_posted_again_is_answered_from_the_record(run: Driven, refund_card: str) -> None:
    first = run.intent(INPUT)
    assert run.intent(INPUT, seq=1).json == first.json
    run.complete(OUTPUT)
    assert run.intent(INPUT, seq=1).json == first.json | {"settled": True, "output": OUTPUT}
    assert run.kinds == ["RunStarted", "ToolCallRequested", "ToolCallCompleted"]
    assert Intent.objects.count() == 1


def test_the_same_content_again_is_answered_from_the_first_call(run: Driven, refund_card: str) -> None:
    run.intent(INPUT)
    run.complete(OUTPUT)
    again = run.intent(INPUT)
    assert (again.json["seq"], again.json["settled"], again.json["output"]) == (3, True, OUTPUT)
    copied = run.log[4]["event"]["payload"]
    assert copied["deduplicated_from"] == {"run_id": run.id, "seq": 1}
    third = run.intent(INPUT)
    assert third.json["settled"]
    assert run.log[6]["event"]["payload"]["deduplicated_from"]["seq"] == 1
    assert list(Intent.objects.order_by("seq").values_list("seq", "standing", "holds_claim")) == [
        (1, "completed", True),
        (3, "copied", False),
        (5, "copied", False),
    ]


def test_the_same_content_in_another_run_is_another_call(run: Driven, refund_card: str) -> None:
    first = run.intent(INPUT)
    run.complete(OUTPUT)
    other = run.peer.run()
    second = other.intent(INPUT)
    assert not second.json["settled"]
    assert second.json["idempotency_key"] != first.json["idempotency_key"]
    likeness = set(Intent.objects.values_list("likeness", flat=True))
    assert len({bytes(one or b"") for one in likeness}) == 1


def test_history_replays_under_its_own_revision_after_the_tool_was_changed_and_revoked(run: Driven, cast: Cast) -> None:
    """The reference judges a retry by what is declared now (transcripts edited-01 and -03)."""
    a_tool(cast)
    first = run.intent(INPUT)
    run.complete(OUTPUT)
    a_tool(cast, effect="idempotent", idempotency_key=["amount_cents"])
    settled = first.json | {"settled": True, "output": OUTPUT}
    assert run.intent(INPUT, seq=1).json == settled
    document = Document.objects.get(key="refund_card")
    publishing.revoke(document_id=document.pk, reason="Stopped.", actor=cast.actor("root"))
    assert run.intent(INPUT, seq=1).json == settled
    assert run.intent(INPUT).refusal == (404, "unknown_tool")


def test_what_was_published_a_moment_ago_judges_the_next_call(run: Driven, cast: Cast) -> None:
    a_tool(cast)
    run.intent(INPUT)
    run.complete(OUTPUT)
    a_tool(cast, effect="read", idempotency_key=None)
    reply = run.intent(INPUT | {"order_id": "ORD-2"})
    assert (reply.status, reply.json["effect"]) == (200, "read")
    assert Intent.objects.get(seq=3).publication == 2


def test_asking_again_costs_no_more_deep_in_a_log(run: Driven, refund_card: str) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            run.intent(INPUT, seq=1)
        return len(captured)

    run.intent(INPUT)
    run.complete(OUTPUT)
    few = statements()
    run.append(*[{"kind": "RandomObserved", "payload": {"value": value}} for value in range(300)])
    assert statements() == few


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("tool", ["keyed", "positional"])
def test_of_many_identical_intents_one_is_written_and_all_are_answered(
    workspace: Workspace, cast: Cast, tool: str
) -> None:
    a_tool(cast, **({} if tool == "keyed" else {"idempotency_key": None}))
    peer = a_peer(workspace)
    body = {"seq": 1, "tool": "refund_card", "input": INPUT}
    for _ in range(ROUNDS):
        run = peer.run()
        path = f"client-runs/{run.id}/client-tool-intent"
        replies = at_once(*[lambda path=path, run=run: Peer(peer.token).post(path, body, drive=run.drive)] * THREADS)
        assert {reply.status for reply in replies} == {200}
        assert len({reply.text for reply in replies}) == 1
        assert Event.objects.filter(run__run_id=run.id).count() == 2
        assert Intent.objects.filter(run__run_id=run.id).count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_different_intents_for_one_position_one_is_written(workspace: Workspace, cast: Cast) -> None:
    a_tool(cast)
    peer = a_peer(workspace)
    for _ in range(ROUNDS):
        run = peer.run()
        asks = [
            lambda at=at, run=run: Peer(peer.token).post(
                f"client-runs/{run.id}/client-tool-intent",
                {"seq": 1, "tool": "refund_card", "input": INPUT | {"order_id": f"ORD-{at}"}},
                drive=run.drive,
            )
            for at in range(THREADS)
        ]
        replies = at_once(*asks)
        assert sorted(reply.status for reply in replies) == [200] + [409] * (THREADS - 1)
        assert Event.objects.filter(run__run_id=run.id).count() == 2
