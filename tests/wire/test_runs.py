"""Runs as they are listed, shown and streamed: contract 6.11, 6.12, 6.16; `limit`, `after` and `status` beyond it."""

from __future__ import annotations

import json
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from salvor_admin.ledger import selectors, statements
from salvor_admin.people.models import Workspace
from tests.settlement.factories import INPUT
from tests.wire.peer import Driven, Peer, a_peer

pytestmark = pytest.mark.django_db
COMPLETED = {"kind": "RunCompleted", "payload": {"output": {"ok": True}}}
SUSPENDED = {"kind": "Suspended", "payload": {"reason": "r", "input_schema": True}}


@pytest.fixture
def five(peer: Peer) -> list[Driven]:
    """Five runs in the order in which they began; the last two are completed and suspended."""
    runs = [peer.run() for _ in range(5)]
    runs[3].append(COMPLETED)
    runs[4].append(SUSPENDED)
    return runs


def ids(peer: Peer, query: str = "") -> list[str]:
    reply = peer.get(f"runs{query}")
    assert reply.status == 200, reply.text
    return [run["run"] for run in reply.json["runs"]]


def test_runs_come_in_the_order_of_their_first_event_not_of_opening(peer: Peer) -> None:
    third = peer.run(begun=False)
    first, second = peer.run(), peer.run()
    third.append({"kind": "RunStarted", "payload": {"agent_def_hash": "h", "input": 1}})
    assert ids(peer) == [first.id, second.id, third.id]


def test_a_listed_run_shows_its_state_counts_and_labels(peer: Peer) -> None:
    run = peer.run(begun=False)
    run.append({"kind": "RunStarted", "payload": {"agent_def_hash": "h", "input": 1, "labels": {"b": "2", "a": "1"}}})
    run.post("client-model-intent", {"seq": 1, "request_hash": "m"})
    usage = {"input_tokens": 10, "output_tokens": 3}
    run.post("client-model-completion", {"seq": 1, "response": 1, "usage": usage})
    (listed,) = peer.get("runs").json["runs"]
    times = {name: listed.pop(name) for name in ("first_recorded_at", "last_recorded_at")}
    assert listed == {
        "run": run.id,
        "status": {"state": "running"},
        "event_count": 3,
        "usage": usage,
        "step_count": 1,
        "agent_def_hash": "h",
        "labels": {"a": "1", "b": "2"},
        "driver": "attached",
    }
    assert times["first_recorded_at"] < times["last_recorded_at"]


def test_pages_follow_on_one_another(peer: Peer, five: list[Driven]) -> None:
    all_of_them = [run.id for run in five]
    assert ids(peer, "?limit=2") == all_of_them[:2]
    assert ids(peer, f"?limit=2&after={all_of_them[1]}") == all_of_them[2:4]
    assert ids(peer, f"?after={all_of_them[4].upper()}") == []
    assert ids(peer, "?colour=blue") == all_of_them


def test_runs_are_found_by_state(peer: Peer, five: list[Driven], refund_card: str) -> None:
    five[0].intent(INPUT)
    assert ids(peer, "?status=needs_reconciliation") == [five[0].id]
    assert ids(peer, "?status=running") == [five[1].id, five[2].id]
    assert ids(peer, "?status=completed") == [five[3].id]
    assert ids(peer, "?status=suspended&limit=1") == [five[4].id]
    assert ids(peer, "?status=failed") == []


@pytest.mark.parametrize(
    "query", ["?limit=0", "?limit=x", "?limit=10001", "?limit=1&limit=2", "?after=nope", "?status=nope", "?status="]
)
def test_a_query_that_cannot_be_used_is_refused(peer: Peer, query: str) -> None:
    assert peer.get(f"runs{query}").refusal == (400, "bad_request")


def test_a_page_after_a_run_that_is_none_of_ours_is_refused(peer: Peer, other_workspace: Workspace) -> None:
    stranger = a_peer(other_workspace).run()
    assert peer.get(f"runs?after={stranger.id}").refusal == (404, "unknown_run")
    assert peer.get(f"runs?after={uuid.uuid4()}").refusal == (404, "unknown_run")


def test_another_workspaces_runs_are_not_listed(peer: Peer, other_workspace: Workspace) -> None:
    a_peer(other_workspace).run()
    assert ids(peer) == []


def test_a_list_is_read_in_chunks_that_join_without_loss(
    peer: Peer, five: list[Driven], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def counted(statement: str, values: dict[str, int]) -> list[tuple[object, ...]]:
        rows = statements.execute(statement, values)
        read.append(len(rows))
        return rows

    monkeypatch.setattr(selectors, "CHUNK", 2)
    monkeypatch.setattr(selectors, "execute", counted)
    assert ids(peer) == [run.id for run in five]
    assert read == [2, 2, 1]


def test_a_page_costs_the_same_queries_for_one_run_and_for_ten(peer: Peer) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert peer.get("runs?limit=50").status == 200
        return len(captured)

    peer.run()
    one = queries()
    for _ in range(9):
        peer.run()
    assert queries() == one


def test_detail_and_replay_show_what_is_pending(run: Driven, refund_card: str) -> None:
    key = run.intent(INPUT).json["idempotency_key"]
    pending = {"kind": "tool", "seq": 1, "tool": "refund_card", "input": INPUT, "effect": "write"}
    assert run.detail["pending"] == pending | {"idempotency_key": key}
    replayed = run.peer.get(f"runs/{run.id}/replay").json
    assert replayed == {
        "status": {"state": "needs_reconciliation"},
        "usage": {"input_tokens": 0, "output_tokens": 0},
        "next_seq": 2,
        "pending": pending | {"idempotency_key": key},
    }


def frames(run: Driven, query: str = "", **headers: str) -> list[str]:
    reply = run.peer.get(f"runs/{run.id}/events{query}", **headers)
    assert reply.status == 200
    return reply.text.split("\n\n")[:-1]


def test_a_stream_sends_the_events_and_then_its_end(run: Driven) -> None:
    run.append(COMPLETED)
    begun, completed, end = frames(run)
    assert begun.startswith('id: 0\ndata: {"run_id":"')
    assert (
        '"event":{"kind":"RunStarted","payload":{"agent_def_hash":"sha256:desk","input":1,"driven_by":"client"}}'
        in begun
    )
    assert completed.startswith("id: 1\ndata: ")
    assert end == 'event: end\ndata: {"status":{"output":{"ok":true},"state":"completed"}}'


def test_a_run_that_goes_on_is_told_as_detached(run: Driven) -> None:
    assert frames(run)[-1] == 'event: end\ndata: {"detached":true,"status":{"state":"running"}}'


def test_the_cursor_of_a_reconnect_beats_the_query(run: Driven) -> None:
    run.append(*[{"kind": "RandomObserved", "payload": {"value": value}} for value in range(4)])
    assert len(frames(run, "?from_seq=3")) == 3
    assert len(frames(run, "?from_seq=0", **{"Last-Event-ID": "3"})) == 2
    assert len(frames(run, "?from_seq=4", **{"Last-Event-ID": "x"})) == 2
    assert len(frames(run, "?from_seq=99")) == 1


def test_a_stream_is_an_event_stream_that_nobody_stores(run: Driven) -> None:
    response = run.peer.http.get(f"/v1/runs/{run.id}/events", headers={"Authorization": f"Bearer {run.peer.token}"})
    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.headers["Cache-Control"] == "no-cache"


def test_nothing_that_carries_inputs_is_stored_on_the_way(run: Driven) -> None:
    response = run.peer.http.get("/v1/runs", headers={"Authorization": f"Bearer {run.peer.token}"})
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_resume_leaves_client_runs_alone(run: Driven) -> None:
    reply = run.peer.post(f"runs/{run.id}/resume", b"not json")
    assert reply.refusal == (409, "client_driven_run")
    assert "/v1/client-runs" in reply.message
    run.post("release")
    assert run.peer.post(f"runs/{run.id}/resume", b"not json").refusal == (400, "bad_request")
    assert run.peer.post(f"runs/{run.id}/resume").refusal == (409, "client_driven_run")
    assert run.peer.post(f"runs/{uuid.uuid4()}/resume").refusal == (404, "unknown_run")


def test_numbers_keep_their_spelling_through_the_log(run: Driven) -> None:
    text = '{"a":[1,1.0,-0.0,1e+16,18446744073709551615,1e-7],"é":"\\u0001\u2028"}'
    event = f'{{"kind":"RunCompleted","payload":{{"output":{text}}}}}'
    frame = json.dumps({"events": [run.envelope(1, "@")]}).replace('"@"', event)
    assert run.post("events", frame.encode()).status == 200
    assert f'"output":{text}' in run.peer.get(f"client-runs/{run.id}/log").text
    assert f'"output":{text}' in run.peer.get(f"runs/{run.id}").text
