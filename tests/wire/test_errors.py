"""The envelope, the order of checks, sizes and spellings: contract 6.0, 10.1, 10.2 and 4 rule 14."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client

from salvor_admin.ledger.models import Run
from salvor_admin.runtimes.models import Runtime, RuntimeToken
from salvor_admin.wire import routes
from tests.wire.peer import Driven, Peer

pytestmark = pytest.mark.django_db
LIMIT = 2 * 1024 * 1024


def test_a_refusal_is_an_envelope_with_code_and_message_and_no_more(peer: Peer) -> None:
    reply = peer.get("runs/nope")
    assert reply.refusal == (400, "bad_request")
    assert set(reply.json) == {"error"}
    assert set(reply.json["error"]) == {"code", "message"}


def test_only_the_documented_codes_tell_details(run: Driven) -> None:
    error = run.peer.open(run.id).json["error"]
    assert set(error) == {"code", "details", "message"}
    assert set(error["details"]) == {"lapses_in_seconds"}


@pytest.mark.parametrize(
    "header", ["", "bearer {}", "BEARER {}", "Bearer  {}", "Bearer {} x", "Bearer", "Bearer wrong", "Basic {}", "{}"]
)
def test_the_bearer_header_must_be_exact(peer: Peer, header: str) -> None:
    response = Client().get("/v1/client-tools", headers={"Authorization": header.format(peer.token)})
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "unauthorized"
    assert response.headers["WWW-Authenticate"] == "Bearer"


def test_a_revoked_an_expired_and_a_retired_token_open_nothing_at_once(peer: Peer) -> None:
    assert peer.get("client-tools").status == 200
    for undo, dead in (
        ({"revoked_at": None}, {"revoked_at": Now()}),
        ({"expires_at": None}, {"expires_at": Now()}),
    ):
        RuntimeToken.objects.update(**dead)
        assert peer.get("client-tools").refusal == (401, "unauthorized")
        RuntimeToken.objects.update(**undo)
    Runtime.objects.update(is_active=False)
    assert peer.open().refusal == (401, "unauthorized")
    assert not Run.objects.exists()


def test_the_token_is_looked_at_before_the_method_the_run_and_the_body(run: Driven) -> None:
    stranger = Peer("srt_nobody")
    for method, path, body in (
        ("DELETE", "runs", b""),
        ("POST", "client-runs/zzz/events", b"x" * (LIMIT + 1)),
        ("GET", "client-runs/zzz/log?from_seq=abc", b""),
        ("POST", f"runs/{run.id}/resolve", b"not json"),
    ):
        assert stranger.send(method, path, body).refusal == (401, "unauthorized")


def test_the_size_and_the_query_are_looked_at_before_the_run(peer: Peer) -> None:
    assert peer.post("client-runs/zzz/events", b"x" * (LIMIT + 1)).refusal == (413, "payload_too_large")
    assert peer.get("client-runs/zzz/log?from_seq=abc").refusal == (400, "bad_request")
    assert peer.post("client-runs/zzz/events", b"x").refusal == (400, "bad_request")


@pytest.mark.parametrize(
    "query",
    [
        "from_seq=",
        "from_seq=+1",
        "from_seq=-1",
        "from_seq=1.0",
        "from_seq=%201",
        "from_seq=x",
        "from_seq=18446744073709551616",
        "from_seq=1&from_seq=1",
    ],
)
@pytest.mark.parametrize("path", ["client-runs/{}/log", "runs/{}/events"])
def test_a_position_in_a_query_is_a_plain_number_given_once(run: Driven, path: str, query: str) -> None:
    assert run.peer.get(f"{path.format(run.id)}?{query}").refusal == (400, "bad_request")


@pytest.mark.parametrize("query", ["from_seq=18446744073709551615", "from_seq=9223372036854775807", "from_seq=99"])
def test_a_position_past_the_end_reads_nothing(run: Driven, query: str) -> None:
    assert run.peer.get(f"client-runs/{run.id}/log?{query}").json == {"log": []}


def test_two_mebibytes_are_read_and_a_byte_more_is_not(run: Driven) -> None:
    frame = b'{"events":[],"pad":"%s"}'
    pad = LIMIT - len(frame) + 2
    assert run.post("events", frame % (b"x" * pad)).json == {"appended": []}
    reply = run.post("events", frame % (b"x" * (pad + 1)))
    assert reply.refusal == (413, "payload_too_large")


def test_where_no_body_is_read_none_is_too_large(run: Driven) -> None:
    assert run.post("heartbeat", b"x" * (LIMIT + 1)).status == 200
    assert run.post("release", b"x" * (LIMIT + 1)).status == 200


def test_the_lease_is_looked_at_before_the_body(run: Driven) -> None:
    path = f"client-runs/{run.id}/events"
    assert run.peer.post(path, b"not json").refusal == (401, "missing_drive_token")
    assert run.peer.post(path, b"not json", drive="").refusal == (403, "invalid_drive_token")
    assert run.peer.post(path, b"not json", drive=run.drive).refusal == (400, "bad_request")


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[1", b'"x"', b"\xff\xfe{}", b"\xef\xbb\xbf{}", b'{"events":[]}x', b'{"events":[],"events":[]}'],
)
def test_a_body_that_cannot_be_read_is_refused_and_nothing_written(run: Driven, body: bytes) -> None:
    assert run.post("events", body).refusal == (400, "bad_request")
    assert run.kinds == ["RunStarted"]


def test_content_type_and_accept_are_not_looked_at(run: Driven) -> None:
    headers = {"Authorization": f"Bearer {run.peer.token}", "X-Drive-Token": run.drive, "Accept": "text/html"}
    reply = Client().generic(
        "POST",
        f"/v1/client-runs/{run.id}/events",
        b'{"events":[]}',
        content_type="multipart/form-data",
        headers=headers,
    )
    assert (reply.status_code, reply.json()) == (200, {"appended": []})


def test_head_answers_as_get_without_a_body(run: Driven) -> None:
    for path in ("client-tools", "runs", f"runs/{run.id}", f"client-runs/{run.id}/log", "capabilities"):
        reply = run.peer.send("HEAD", path)
        assert (reply.status, reply.text) == (200, "")
    assert run.peer.send("HEAD", "runs/nope").status == 400


def test_a_wrong_method_is_told_the_right_ones(peer: Peer) -> None:
    response = peer.http.put("/v1/runs", headers={"Authorization": f"Bearer {peer.token}"})
    assert response.status_code == 405
    assert response.headers["Allow"] == "GET,POST,HEAD"
    assert response.json()["error"]["code"] == "method_not_allowed"


def test_a_mistake_of_ours_is_told_as_one_and_shows_nothing(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(request: Any) -> Any:
        raise RuntimeError("secret")

    monkeypatch.setitem(routes.ROUTES["capabilities"], "GET", broken)  # type: ignore[arg-type]
    reply = peer.get("capabilities")
    assert reply.refusal == (500, "internal")
    assert "secret" not in reply.text


@pytest.mark.parametrize("depth", [124, 125])
def test_an_input_nests_at_most_124_deep(run: Driven, refund_card: str, depth: int) -> None:
    body = b'{"seq":1,"tool":"refund_card","input":%s%s}' % (b"[" * depth, b"]" * depth)
    reply = run.post("client-tool-intent", body)
    assert reply.refusal == (400, "bad_request")
    assert ("containers" in reply.message) == (depth == 125)


def test_a_payload_value_nests_at_most_122_deep(run: Driven) -> None:
    frame = json.dumps({"events": [run.envelope(1, {"kind": "RunCompleted", "payload": {"output": "@"}})]}).encode()

    def nested(depth: int) -> bytes:
        return frame.replace(b'"@"', b"[" * depth + b"]" * depth)

    assert run.post("events", nested(123)).refusal == (400, "bad_request")
    assert run.post("events", nested(122)).status == 200
    assert run.detail["status"]["state"] == "completed"


def test_strings_that_a_text_column_cannot_hold_are_kept_as_they_are(peer: Peer) -> None:
    run = peer.run(begun=False)
    payload = {"agent_def_hash": "a\0b", "input": "c\0d", "labels": {"k\0": "v\0"}}
    assert run.append({"kind": "RunStarted", "payload": payload}).status == 200
    assert run.log[0]["event"]["payload"] == payload | {"driven_by": "client"}
    listed = peer.get("runs").json["runs"][0]
    assert (listed["agent_def_hash"], listed["labels"]) == ("a\0b", {"k\0": "v\0"})


def test_an_instant_that_could_not_be_read_back_is_refused(run: Driven) -> None:
    event = {"kind": "SleepStarted", "payload": {"wake_at": "9999-12-31T23:59:59-01:00"}}
    assert run.append(event).refusal == (400, "bad_request")
    assert run.kinds == ["RunStarted"]
    assert run.peer.get("runs").status == 200


def test_graph_events_are_not_taken_and_an_abandonment_is(run: Driven) -> None:
    """The reference makes runs without the client mark of them (topic `graph`)."""
    graph = {"kind": "GraphRunStarted", "payload": {"graph_hash": "g", "input": 1}}
    other = run.peer.run(begun=False)
    assert other.append(graph).refusal == (422, "unsupported_event_kind")
    assert other.log == []
    assert run.append({"kind": "NodeEntered", "payload": {"node": "n"}}).refusal == (422, "unsupported_event_kind")
    assert run.append({"kind": "RunAbandoned", "payload": {}}).status == 200


def test_a_drivers_resolve_on_a_run_without_events_names_the_run(peer: Peer, noors: Peer) -> None:
    """The reference answers 500 (transcript quirk-06)."""
    run = peer.run(begun=False)
    reply = noors.post(f"client-runs/{run.id}/resolve", {"output": 1}, drive=run.drive)
    assert reply.refusal == (404, "unknown_run")
