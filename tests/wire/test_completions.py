"""Reports: contract 6.7 and design section 5; what is not believed is kept as evidence."""

from __future__ import annotations

from typing import Any

import pytest

from salvor_admin.ledger.models import Event, Intent, Report
from salvor_admin.people.models import Workspace
from salvor_admin.reviews import publishing
from salvor_admin.reviews.models import Document
from tests.people.factories import Cast
from tests.races import ROUNDS, THREADS, at_once
from tests.settlement.factories import INPUT, OUTPUT, a_tool
from tests.wire.peer import Driven, Peer, a_peer

pytestmark = pytest.mark.django_db


def the_intent() -> Intent:
    return Intent.objects.get()


def assert_refused_and_kept(run: Driven, reply: Any, status: int, code: str) -> Report:
    """Nothing was written to the log, the report stands as evidence, and the call waits from now on."""
    assert reply.refusal == (status, code)
    assert run.kinds == ["RunStarted", "ToolCallRequested"]
    report = Report.objects.get()
    intent = the_intent()
    assert (report.code, report.message) == (code, reply.message)
    assert intent.standing == "open"
    assert intent.refusals == 1
    assert intent.waits_at <= report.received_at
    assert intent.listed_at is not None
    return report


def test_a_believed_report_closes_the_call(run: Driven, refund_card: str) -> None:
    run.intent(INPUT)
    assert run.complete(OUTPUT).json == {"seq": 1, "completed": True}
    assert run.state == "running"
    intent = the_intent()
    assert intent.standing == "completed"
    assert intent.closed_at is not None
    assert not Report.objects.exists()


def test_a_pinned_field_that_came_back_otherwise_is_evidence(run: Driven, refund_card: str) -> None:
    run.intent(INPUT)
    wrong = OUTPUT | {"amount_cents": 4800}
    reply = run.complete(wrong)
    report = assert_refused_and_kept(run, reply, 403, "client_completion_refused")
    assert report.output == '{"amount_cents":4800,"provider_refund_id":"re_3PqT81Kd9f"}'
    assert bytes(report.body).startswith(b'{"seq": 1, "output": {')
    for part in ("`amount_cents`", "4800", "5000", "require_equal", f"/v1/runs/{run.id}/resolve"):
        assert part in reply.message


def test_a_report_may_be_corrected_after_a_refusal(run: Driven, refund_card: str) -> None:
    run.intent(INPUT)
    assert run.complete(OUTPUT | {"amount_cents": 1}).status == 403
    assert run.complete(OUTPUT).status == 200
    assert the_intent().standing == "completed"
    assert Report.objects.count() == 1


def test_an_output_that_does_not_fit_is_evidence(run: Driven, refund_card: str) -> None:
    run.intent(INPUT)
    assert_refused_and_kept(run, run.complete({"amount_cents": 5000}), 400, "bad_request")


@pytest.mark.parametrize("given", [{"output": OUTPUT}, {"error": {"message": "down"}}])
def test_an_untrusted_tools_report_is_evidence(run: Driven, cast: Cast, given: dict[str, Any]) -> None:
    a_tool(cast, trust_completion=False)
    run.intent(INPUT)
    report = assert_refused_and_kept(run, run.complete(**given), 403, "client_completion_refused")
    assert (report.output is None, report.error is None) == ("error" in given, "output" in given)


def test_an_unknown_failure_kind_is_evidence_even_with_a_nul_in_it(run: Driven, refund_card: str) -> None:
    run.intent(INPUT)
    reply = run.complete(error={"message": "m", "kind": "time\0out"})
    assert reply.refusal == (400, "bad_request")
    assert Report.objects.get().error == '{"kind":"time\\u0000out","message":"m"}'


def test_a_revoked_tools_report_is_unknown_and_evidence(run: Driven, cast: Cast) -> None:
    a_tool(cast)
    run.intent(INPUT)
    document = Document.objects.get(key="refund_card")
    publishing.revoke(document_id=document.pk, reason="Stopped.", actor=cast.actor("root"))
    assert_refused_and_kept(run, run.complete(OUTPUT), 404, "unknown_tool")


def test_trust_withdrawn_by_a_publication_counts_at_once(run: Driven, cast: Cast) -> None:
    a_tool(cast)
    run.intent(INPUT)
    a_tool(cast, trust_completion=False)
    assert_refused_and_kept(run, run.complete(OUTPUT), 403, "client_completion_refused")


def test_a_published_change_breaks_no_call_in_flight(run: Driven, cast: Cast) -> None:
    """The reference judges a report by what is declared now (transcript edited-03)."""
    a_tool(cast)
    run.intent(INPUT)
    a_tool(cast, output_schema={"type": "array"}, require_equal=None)
    assert run.complete(OUTPUT).status == 200


def test_a_report_about_no_open_call_is_refused_without_a_trace(run: Driven, refund_card: str) -> None:
    assert run.complete(OUTPUT, seq=0).refusal == (409, "divergence")
    run.intent(INPUT)
    assert run.complete(OUTPUT, seq=2).refusal == (409, "divergence")
    run.complete(OUTPUT)
    assert run.complete(OUTPUT, seq=1).refusal == (409, "divergence")
    assert not Report.objects.exists()


@pytest.mark.parametrize(
    "body", [b"", b"{}", b'{"seq":1}', b'{"seq":1,"output":null}', b'{"seq":1,"output":1,"error":{"message":"m"}}']
)
def test_a_body_that_reports_nothing_is_no_report(run: Driven, refund_card: str, body: bytes) -> None:
    run.intent(INPUT)
    assert run.post("client-tool-completion", body).refusal == (400, "bad_request")
    assert not Report.objects.exists()
    assert the_intent().refusals == 0


def test_a_failure_is_recorded_and_the_run_goes_on(run: Driven, refund_card: str) -> None:
    run.intent(INPUT)
    assert run.complete(error={"message": "card declined", "attempts": 7}).status == 200
    sentinel = {"__salvor_error": {"attempts": 1, "is_error": True, "kind": "handler", "message": "card declined"}}
    assert run.log[2]["event"]["payload"]["output"] == sentinel
    assert run.state == "running"
    assert run.intent(INPUT).json["output"] == sentinel


@pytest.mark.django_db(transaction=True)
def test_of_many_reports_one_closes_the_call(workspace: Workspace, cast: Cast) -> None:
    a_tool(cast)
    peer = a_peer(workspace)
    body = {"seq": 1, "output": OUTPUT}
    for _ in range(ROUNDS):
        run = peer.run()
        run.intent(INPUT)
        path = f"client-runs/{run.id}/client-tool-completion"
        replies = at_once(*[lambda path=path, run=run: Peer(peer.token).post(path, body, drive=run.drive)] * THREADS)
        assert sorted(reply.status for reply in replies) == [200] + [409] * (THREADS - 1)
        assert Event.objects.filter(run__run_id=run.id).count() == 3


@pytest.mark.django_db(transaction=True)
def test_many_refused_reports_at_once_are_all_kept(workspace: Workspace, cast: Cast) -> None:
    a_tool(cast)
    peer = a_peer(workspace)
    run = peer.run()
    run.intent(INPUT)
    path = f"client-runs/{run.id}/client-tool-completion"
    body = {"seq": 1, "output": OUTPUT | {"amount_cents": 1}}
    replies = at_once(*[lambda: Peer(peer.token).post(path, body, drive=run.drive)] * THREADS)
    assert {reply.status for reply in replies} == {403}
    assert Report.objects.count() == THREADS
    assert Intent.objects.get().refusals == THREADS
