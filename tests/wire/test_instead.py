"""What we answer instead, where a bullet of docs/wire.md says that we answer otherwise: step by step, to the end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from salvor_admin.domain.refusals import Refusal
from salvor_admin.people.models import Workspace
from salvor_admin.reviews.models import Revision
from tests.people.factories import Cast
from tests.settlement.factories import OUTPUT, a_tool
from tests.wire import replay
from tests.wire.peer import Driven, Peer
from tests.wire.stage import Stage
from tests.wire.test_transcripts import LISTED, TRANSCRIPTS

pytestmark = pytest.mark.django_db

#: By transcript and step: our status, and code or answer, where it is not the recorded one. Every other step is met.
INSTEAD: dict[str, dict[int, str]] = {
    "memory-01-lease-lost": {
        4: "200 heartbeat",  # the restart lost nothing
        5: "200 driver",  # attached, not none
        6: "200 released",  # true: there was something to release
    },
    "edited-01-effect": {
        7: "200 intent",  # history replays by its own revision
    },
    "edited-03-schemas": {
        7: "200 intent",  # the recorded input fitted the revision it was asked under
        8: "200 completed",  # and so does the report
        9: "409 wrong_state",  # so there is nothing left to settle,
        12: "200 log",  # with one event more,
        13: "409 divergence",  # nor to report,
        14: "409 wrong_state",  # nor for a person to say
    },
    "graph-02-label-bounds": {
        2: "422 unsupported_event_kind",
        3: "409 divergence",  # nothing has begun
        4: "404 unknown_run",
    },
    "graph-04-resume-refused": {
        2: "422 unsupported_event_kind",
        3: "409 divergence",
        5: "404 unknown_run",
        7: "422 unsupported_event_kind",
        9: "404 unknown_run",
        11: "422 unsupported_event_kind",
        13: "404 unknown_run",
        14: "404 unknown_run",
    },
    "quirk-06-empty-log-resolve": {2: "404 unknown_run"},
    "quirk-08-unreadable-run": {
        6: "400 bad_request",
        7: "200 log",
        8: "200 driver",
        9: "409 divergence",
        10: "200 abandoned",
        11: "200 log",
        12: "403 invalid_drive_token",  # opening the abandoned run again gave a fresh token
        13: "200 runs",
    },
    "runs-01-list": {12: "200 runs"},
}


@pytest.fixture
def stage(db: None) -> Stage:
    return Stage(is_migrated=True)


def ask(stage: Stage, request: dict[str, Any], variables: dict[str, str]) -> replay.Reply:
    """One recorded request, as the recorded player would send it."""
    token = stage.settler_token if replay.decides(request) else stage.runtime_token
    body = replay.request_body(request, variables)
    headers = {name: value for name, value in replay.header_lines(request, variables, body, token) if ":" not in name}
    path = replay.substitute(request["path"], variables)
    response = Client().generic(request["method"], path, body, content_type="application/json", headers=headers)
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return replay.Reply(response.status_code, response.headers["Content-Type"].partition(";")[0], content.decode())


def differences(stage: Stage, transcript: dict[str, Any]) -> dict[int, str]:
    """Our answers that are not the recorded ones."""
    stage.declare(transcript["declarations"])
    variables = {"auth": stage.runtime_token, **transcript["variables"]}
    found = {}
    for number, step in enumerate(transcript["steps"], start=1):
        if "restart" in step:
            if step["restart"]:
                stage.declare(step["restart"]["declarations"])
            continue
        reply = ask(stage, step["request"], variables)
        try:
            replay.check_reply(step, reply, variables)
        except replay.Mismatch:
            told = json.loads(reply.text)
            word = told["error"]["code"] if "error" in told else _what(told)
            found[number] = f"{reply.status} {word}"
        if reply.status < 300:
            for name, pointer in step.get("capture", {}).items():
                variables[name] = replay.look_up(reply.document(), pointer)
    return found


def _what(told: dict[str, Any]) -> str:
    known = {"lapses_in_seconds": "heartbeat", "idempotency_key": "intent"}
    word = next(
        (
            key
            for key in (*known, "completed", "released", "abandoned", "drive_token", "log", "runs", "driver")
            if key in told
        ),
        "?",
    )
    return "log" if word == "drive_token" else known.get(word, word)


@pytest.mark.parametrize("name", sorted(INSTEAD))
def test_a_listed_transcript_is_answered_like_this_to_its_end(stage: Stage, name: str) -> None:
    path = next(path for path in TRANSCRIPTS if path.stem == name)
    assert differences(stage, json.loads(path.read_text(encoding="utf-8"))) == INSTEAD[name]


def test_every_listed_transcript_is_told_of_here() -> None:
    # `quirk-01-listing-odd` has no further step: its tools are not live here at all.
    assert set(INSTEAD) | {"quirk-01-listing-odd"} == set(LISTED)


def test_of_the_odd_declarations_only_the_true_schema_is_one(stage: Stage) -> None:
    path = next(path for path in TRANSCRIPTS if path.stem == "quirk-01-listing-odd")
    told = {}
    for name, text in json.loads(path.read_text(encoding="utf-8"))["declarations"].items():
        try:
            stage.declare({name: text})
            told[name] = "taken"
        except Refusal as refusal:
            told[name] = refusal.code
    assert told == {"a.toml": "no_json_value", "b.toml": "bad_name", "c.toml": "taken", "d.toml": "not_a_schema"}
    assert [revision.document.key for revision in Revision.objects.all()] == ["Z"]


# --- more of the same, beyond what was recorded ----------------------------------------------------------------------


def test_trust_that_is_given_later_does_not_reach_back(run: Driven, cast: Cast) -> None:
    a_tool(cast, trust_completion=False)
    run.intent({"order_id": "ORD-7781", "amount_cents": 5000})
    a_tool(cast, trust_completion=True)
    assert run.complete(OUTPUT).refusal == (403, "client_completion_refused")
    assert run.state == "needs_reconciliation"


def test_a_call_under_an_effect_since_changed_keeps_its_own(run: Driven, cast: Cast) -> None:
    a_tool(cast)
    asked = {"order_id": "ORD-7781", "amount_cents": 5000}
    first = run.intent(asked).json
    a_tool(cast, effect="idempotent")
    assert run.intent(asked, seq=1).json == first
    assert run.state == "needs_reconciliation"
    assert run.complete(OUTPUT).status == 200
    again = run.intent(asked).json
    assert (again["effect"], again["settled"], again["output"]) == ("idempotent", True, OUTPUT)


@pytest.mark.parametrize(
    "event",
    [
        {"kind": "NodeEntered", "payload": {"node": "n"}},
        {"kind": "NodeExited", "payload": {"node": "n"}},
        {"kind": "NodeSkipped", "payload": {"node": "n", "reason": "r"}},
        {"kind": "BranchTaken", "payload": {"node": "n", "case": "c"}},
        {"kind": "MapFannedOut", "payload": {"node": "n", "items": 2}},
        {"kind": "FoldIterationStarted", "payload": {"node": "n", "index": 0}},
        {"kind": "FoldConverged", "payload": {"node": "n", "winner_index": 0, "reason": "r"}},
    ],
    ids=lambda event: event["kind"],
)
def test_no_marker_of_a_graph_is_appended(run: Driven, event: dict[str, Any]) -> None:
    reply = run.append(event)
    assert reply.refusal == (422, "unsupported_event_kind")
    assert event["kind"] in reply.message
    assert run.kinds == ["RunStarted"]


def test_a_batch_with_one_graph_event_is_refused_whole(run: Driven) -> None:
    plain = {"kind": "RandomObserved", "payload": {"value": 7}}
    assert run.append(plain, {"kind": "NodeEntered", "payload": {"node": "n"}}).status == 422
    assert run.kinds == ["RunStarted"]


def test_a_run_that_refused_what_is_too_deep_is_read_by_everyone(peer: Peer, workspace: Workspace, cast: Cast) -> None:
    a_tool(cast, name="echo", input_schema={}, output_schema={}, require_equal=None, idempotency_key=None)
    run = peer.run()
    deep, deepest = ("[" * depth + "]" * depth for depth in (125, 124))
    for text, status in ((deep, 400), (deepest, 200)):
        body = f'{{"seq":1,"tool":"echo","input":{text}}}'.encode()
        assert run.post("client-tool-intent", body).status == status
    for text, status in ((deep, 400), (deepest, 200)):
        assert run.post("client-tool-completion", f'{{"seq":1,"output":{text}}}'.encode()).status == status
    for path in (f"client-runs/{run.id}/log", f"runs/{run.id}", f"runs/{run.id}/replay", f"runs/{run.id}/events"):
        assert peer.get(path).status == 200
    assert [each["run"] for each in peer.get("runs").json["runs"]] == [run.id]
