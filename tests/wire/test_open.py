"""Opening runs and holding them: contract 6.1 to 6.4 and 9, and what we do instead of forgetting leases."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.db.models import F

from salvor_admin.ledger import declarations
from salvor_admin.ledger.models import LeaseEnd, Run
from salvor_admin.people.models import Workspace
from tests.races import ROUNDS, THREADS, at_once
from tests.wire.peer import Driven, Peer, a_peer

pytestmark = pytest.mark.django_db
STARTED = {"kind": "RunStarted", "payload": {"agent_def_hash": "sha256:desk", "input": 1}}


def lapse(run_id: str) -> None:
    """Let the time pass in which a silent driver holds its run."""
    Run.objects.filter(run_id=run_id).update(lease_seen_at=F("lease_seen_at") - timedelta(hours=1))


def test_opening_writes_no_event_and_gives_a_drive_token(peer: Peer) -> None:
    reply = peer.open()
    assert reply.status == 201
    assert reply.json["log"] == []
    assert reply.json["drive_token"].startswith("dt_")
    assert len(reply.json["drive_token"]) == 35
    assert peer.get(f"runs/{reply.json['run']}").refusal == (404, "unknown_run")
    assert peer.get("runs").json == {"runs": []}


def test_the_drive_token_is_kept_as_a_hash_alone(peer: Peer) -> None:
    reply = peer.open()
    stored = bytes(Run.objects.get(run_id=reply.json["run"]).lease_hash or b"")
    assert len(stored) == 32
    assert reply.json["drive_token"].encode() not in stored


def test_another_runtime_of_the_workspace_may_take_over_and_is_recorded_as_the_driver(
    peer: Peer, workspace: Workspace
) -> None:
    run = peer.run()
    other = a_peer(workspace)
    assert other.open(run.id).refusal == (409, "lease_held")
    assert run.post("release").json == {"released": True}
    taken = other.open(run.id)
    assert taken.status == 200
    row = Run.objects.select_related("opened_by", "last_driver").get(run_id=run.id)
    assert row.opened_by != row.last_driver
    assert run.post("heartbeat").refusal == (403, "invalid_drive_token")


def test_the_same_id_in_another_workspace_is_another_run(peer: Peer, other_workspace: Workspace) -> None:
    run = peer.run()
    stranger = a_peer(other_workspace)
    assert stranger.get(f"runs/{run.id}").refusal == (404, "unknown_run")
    assert stranger.get(f"client-runs/{run.id}/log").refusal == (404, "unknown_run")
    assert stranger.open(run.id).status == 201
    assert run.kinds == ["RunStarted"]


def test_a_lease_outlives_a_restart(run: Driven) -> None:
    """The reference keeps leases in memory and loses them (transcript memory-01)."""
    declarations._live.clear()
    declarations._newest.clear()
    assert run.post("heartbeat").json == {"lapses_in_seconds": 60}
    assert run.detail["driver"] == "attached"
    assert run.peer.open(run.id).refusal == (409, "lease_held")
    assert run.post("release").json == {"released": True}


def test_a_run_opened_without_events_stays_open_for_its_driver(peer: Peer) -> None:
    run = peer.run(begun=False)
    assert peer.open(run.id, drive=run.drive).json["drive_token"] == run.drive
    lapse(run.id)
    again = peer.open(run.id)
    assert again.status == 200
    assert again.json["drive_token"] != run.drive


def test_the_hold_is_the_runtimes_own_and_lapses_by_the_databases_clock(workspace: Workspace) -> None:
    run = a_peer(workspace, lease_ttl_seconds=7).run()
    assert run.post("heartbeat").json == {"lapses_in_seconds": 7}
    assert run.peer.open(run.id).json["error"]["details"]["lapses_in_seconds"] in range(1, 8)
    lapse(run.id)
    assert run.detail["driver"] == "none"


def test_a_lapsed_token_still_drives_and_makes_the_lease_current_again(run: Driven) -> None:
    lapse(run.id)
    assert run.append({"kind": "RandomObserved", "payload": {"value": 1}}).status == 200
    assert run.detail["driver"] == "attached"


def test_every_call_past_the_gate_refreshes_the_lease_also_one_that_fails(run: Driven) -> None:
    for what, body in (("events", b"not json"), ("client-tool-intent", {"seq": 1, "tool": "none", "input": 1})):
        lapse(run.id)
        assert run.post(what, body).status in {400, 404}
        assert run.detail["driver"] == "attached"


def test_reading_and_refused_opening_refresh_nothing(run: Driven) -> None:
    lapse(run.id)
    run.peer.get(f"client-runs/{run.id}/log")
    assert run.post("events", {"events": []}).status == 200
    lapse(run.id)
    assert Driven(run.peer, run.id, "dt_wrong").post("heartbeat").status == 403
    assert run.detail["driver"] == "none"


def test_how_a_lease_ended_is_kept_for_the_runs_page(peer: Peer) -> None:
    run = peer.run()
    run.post("release")
    again = peer.open(run.id)
    lapse(run.id)
    assert peer.open(run.id).status == 200
    assert again.json["drive_token"] != run.drive
    assert list(LeaseEnd.objects.order_by("pk").values_list("how", flat=True)) == ["released", "lapsed"]


def test_the_log_is_read_from_a_position_and_in_parts(run: Driven) -> None:
    values = [{"kind": "RandomObserved", "payload": {"value": value}} for value in range(450)]
    assert run.append(*values).status == 200
    log = run.peer.get(f"client-runs/{run.id}/log?from_seq=1").json["log"]
    assert [envelope["seq"] for envelope in log] == list(range(1, 451))
    assert [envelope["event"]["payload"]["value"] for envelope in log] == list(range(450))


@pytest.mark.django_db(transaction=True)
def test_of_many_that_open_one_new_run_one_holds_it(workspace: Workspace) -> None:
    peer = a_peer(workspace)
    for _ in range(ROUNDS):
        run_id = str(uuid.uuid4())
        replies = at_once(*[lambda run_id=run_id: Peer(peer.token).open(run_id) for _ in range(THREADS)])
        assert sorted(reply.status for reply in replies) == [201] + [409] * (THREADS - 1)
        assert Run.objects.filter(run_id=run_id).count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_that_take_up_a_lapsed_run_one_holds_it(workspace: Workspace) -> None:
    peer = a_peer(workspace)
    run = peer.run()
    for _ in range(ROUNDS):
        lapse(run.id)
        replies = at_once(*[lambda: Peer(peer.token).open(run.id) for _ in range(THREADS)])
        assert sorted(reply.status for reply in replies) == [200] + [409] * (THREADS - 1)
