"""Every route of `/v1` with every kind of token: none, dead ones, another workspace's, a runtime's own, each person's."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client

from salvor_admin.ledger.models import Event, Report, Run
from salvor_admin.people import services as people
from salvor_admin.people.access import Actor
from salvor_admin.people.models import PersonalToken, Workspace
from salvor_admin.people.services import Shell
from salvor_admin.runtimes import services as runtimes
from salvor_admin.runtimes.models import RuntimeToken
from salvor_admin.settlement.models import Settlement
from salvor_admin.wire.routes import ROUTES
from tests.people.factories import Cast
from tests.runtimes.factories import a_runtime, a_runtime_token
from tests.settlement.factories import INPUT, OUTPUT, Driver, a_driver, a_tool

pytestmark = pytest.mark.django_db

REFUSED = (401, "unauthorized")
READS = {
    "GET client-tools",
    "GET client-runs/<run>/log",
    "GET runs",
    "GET runs/<run>",
    "GET runs/<run>/replay",
    "GET runs/<run>/events",
    "GET capabilities",
    "GET agents",
    "GET graphs",
}
DRIVES = {
    "POST client-runs",
    "POST client-runs/<run>/release",
    "POST client-runs/<run>/heartbeat",
    "POST client-runs/<run>/events",
    "POST client-runs/<run>/client-tool-intent",
    "POST client-runs/<run>/client-tool-completion",
    "POST client-runs/<run>/client-model-intent",
    "POST client-runs/<run>/client-model-completion",
    "POST client-runs/<run>/model-step",
    "POST client-runs/<run>/tool-step",
}
DECIDES = {"POST client-runs/<run>/resolve", "POST runs/<run>/resolve", "POST runs/<run>/abandon"}
#: What nobody can have here, whoever asks: there are no agents and no graphs.
ABSENT = {
    "POST runs": (404, "unknown_agent"),
    "POST runs/<run>/resume": (409, "client_driven_run"),
    "GET runs/<run>/graph": (404, "unknown_graph"),
    "GET runs/<run>/forks": (404, "unknown_graph"),
    "POST runs/<run>/fork": (404, "unknown_graph"),
    "POST agents": (400, "bad_request"),
    "GET agents/<agent>": (404, "unknown_agent"),
    "POST graphs": (400, "invalid_graph"),
    "POST graphs/validate": (400, "invalid_graph"),
    "GET graphs/<graph>": (404, "unknown_graph"),
    "POST graph-runs": (404, "unknown_graph"),
}
EVERY = sorted(READS | DRIVES | DECIDES | set(ABSENT))


@dataclass
class Stage:
    """A run that waits for a write, its driver, and tokens of every kind."""

    cast: Cast
    kim: Actor
    driver: Driver
    fresh_run: str

    @property
    def run_id(self) -> str:
        return self.driver.run_id

    def body(self, route: str) -> str:
        """What the route would take from whoever may."""
        seq = self.driver.seq
        event = {"kind": "RandomObserved", "payload": {"value": 7}}
        envelope = {"run_id": self.run_id, "seq": seq, "schema_version": 1, "recorded_at": "1970-01-01T00:00:00Z"}
        bodies: dict[str, Any] = {
            "POST client-runs": {"run_id": self.fresh_run},
            "POST client-runs/<run>/events": {"events": [{**envelope, "event": event}]},
            "POST client-runs/<run>/client-tool-intent": {"seq": seq, "tool": "refund_card", "input": INPUT},
            "POST client-runs/<run>/client-tool-completion": {"seq": seq - 1, "output": OUTPUT},
            "POST client-runs/<run>/client-model-intent": {"seq": seq, "request_hash": "sha256:1"},
            "POST client-runs/<run>/client-model-completion": {
                "seq": seq - 1,
                "response": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
            "POST client-runs/<run>/model-step": {"seq": seq, "request": {}},
            "POST client-runs/<run>/tool-step": {"seq": seq, "tool": "refund_card", "input": INPUT},
            "POST client-runs/<run>/resolve": {"output": OUTPUT},
            "POST runs/<run>/resolve": {"output": OUTPUT},
            "POST runs": {"agent": "sha256:1"},
            "POST graph-runs": {"graph": "sha256:1"},
        }
        return json.dumps(bodies.get(route, {}))

    def ask(self, route: str, token: str | None) -> Any:
        method, path = route.split()
        for name in ("<run>", "<agent>", "<graph>"):
            path = path.replace(name, self.run_id)
        headers = {"X-Drive-Token": self.driver.drive_token}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return Client().generic(
            method,
            f"/v1/{path}",
            self.body(route) if method == "POST" else "",
            content_type="application/json",
            headers=headers,
        )

    def told(self, route: str, token: str | None) -> tuple[int, str]:
        """Status and code; whatever is told, it holds no token."""
        reply = self.ask(route, token)
        text = (b"".join(reply) if reply.streaming else reply.content).decode()
        assert not token or token not in text
        return reply.status_code, json.loads(text)["error"]["code"] if reply.status_code >= 400 else ""

    def all_told(self, token: str | None) -> dict[str, tuple[int, str]]:
        return {route: self.told(route, token) for route in EVERY}

    def record(self) -> list[Any]:
        """Everything that a refused request must leave alone."""
        return [
            list(Run.objects.order_by("pk").values()),
            Event.objects.count(),
            Report.objects.count(),
            Settlement.objects.count(),
        ]

    def personal(self, name: str, scope: str) -> str:
        person = self.cast.actor(name).person
        return people.create_personal_token(
            person=person, actor=Shell(self.cast.workspace), scope=scope, lives=timedelta(hours=1)
        ).token


@pytest.fixture
def stage(cast: Cast, kim: Actor, workspace: Workspace) -> Stage:
    a_tool(cast)
    driver = a_driver(a_runtime(admin=workspace, name="checkout-eu-1"))
    driver.ask()
    return Stage(cast, kim, driver, str(uuid.uuid4()))


def expected(*, reads: Any, drives: Any, decides: Any, absent: Any = None) -> dict[str, tuple[int, str]]:
    told = dict.fromkeys(READS, reads) | dict.fromkeys(DRIVES, drives) | dict.fromkeys(DECIDES, decides)
    return told | (ABSENT if absent is None else dict.fromkeys(ABSENT, absent))


def test_the_table_has_every_route() -> None:
    assert sorted(f"{method} {path}" for path, methods in ROUTES.items() for method in methods) == EVERY


# --- who is nobody ---------------------------------------------------------------------------------------------------


def dead_tokens(stage: Stage) -> dict[str, str | None]:
    workspace, shell = stage.cast.workspace, Shell(stage.cast.workspace)
    runtime = a_runtime(admin=workspace, name="checkout-eu-3")
    revoked = runtimes.create_runtime_token(runtime_id=runtime.pk, actor=shell)
    runtimes.revoke_runtime_token(token_id=revoked.row.pk, actor=shell)
    expired = runtimes.create_runtime_token(runtime_id=runtime.pk, actor=shell, lives=timedelta(days=1))
    RuntimeToken.objects.filter(pk=expired.row.pk).update(
        created_at=Now() - timedelta(days=2), expires_at=Now() - timedelta(seconds=1)
    )
    retired = a_runtime(admin=workspace, name="checkout-eu-4")
    of_retired = a_runtime_token(runtime=retired)
    runtimes.change_runtime(runtime_id=retired.pk, actor=shell, is_active=False)
    noor = stage.cast.actor("noor")
    gone = people.create_personal_token(person=noor.person, actor=noor, scope="decide", lives=timedelta(hours=1))
    people.revoke_personal_token(token_id=gone.row.pk, actor=noor)
    old = people.create_personal_token(person=noor.person, actor=noor, scope="decide", lives=timedelta(hours=1))
    PersonalToken.objects.filter(pk=old.row.pk).update(
        created_at=Now() - timedelta(days=2), expires_at=Now() - timedelta(seconds=1)
    )
    of_left = stage.personal("grace", "decide")
    people.deactivate_person(
        person_id=stage.cast.actor("grace").person.pk, reason="Left.", actor=stage.cast.actor("root")
    )
    return {
        "none": None,
        "empty": "",
        "never made": "srt_" + "0" * 64,
        "never made, a person's": "spt_" + "0" * 64,
        "of another kind": "0" * 64,
        "longer than any": "srt_" + "0" * 5000,
        "with a letter outside ASCII": "srt_é",
        "revoked": revoked.token,
        "expired": expired.token,
        "of a retired runtime": of_retired,
        "a person's, revoked": gone.token,
        "a person's, expired": old.token,
        "of somebody deactivated": of_left,
    }


def test_a_token_that_opens_nothing_is_told_the_same_everywhere_and_nothing_moves(stage: Stage) -> None:
    tokens = dead_tokens(stage)
    before = stage.record()
    told = {(name, route): stage.told(route, token) for name, token in tokens.items() for route in EVERY}
    assert {where: answer for where, answer in told.items() if answer != REFUSED} == {}
    assert stage.record() == before


def test_where_personal_tokens_are_forbidden_the_standing_ones_open_nothing(stage: Stage) -> None:
    token = stage.personal("noor", "decide")
    Workspace.objects.filter(pk=stage.cast.workspace.pk).update(personal_tokens_allowed=False)
    assert set(stage.all_told(token).values()) == {REFUSED}


@pytest.mark.parametrize(
    "header", ["bearer {}", "Bearer  {}", "Bearer {} x", "Basic {}", "{}", "Bearer\t{}", "BEARER {}", "Bearer"]
)
def test_the_header_is_exactly_one_word_one_space_and_the_token(stage: Stage, header: str) -> None:
    reply = Client().get("/v1/client-tools", headers={"Authorization": header.format(stage.driver.token)})
    assert (reply.status_code, reply.json()["error"]["code"]) == REFUSED
    assert reply.headers["WWW-Authenticate"] == "Bearer"


def test_the_token_is_asked_for_before_the_method_is_looked_at(stage: Stage) -> None:
    for path in ("client-tools", f"runs/{stage.run_id}", f"client-runs/{stage.run_id}/heartbeat"):
        assert Client().delete(f"/v1/{path}").status_code == 401
        reply = Client().delete(f"/v1/{path}", headers={"Authorization": f"Bearer {stage.driver.token}"})
        assert (reply.status_code, reply.json()["error"]["code"]) == (405, "method_not_allowed")


# --- another workspace -----------------------------------------------------------------------------------------------


def test_another_workspaces_runtime_meets_what_is_not_there(stage: Stage) -> None:
    stranger = a_runtime_token(runtime=a_runtime(admin=stage.kim.workspace, name="checkout-eu-1"))
    before = stage.record()
    missing = (404, "unknown_run")
    wanted = expected(reads=missing, drives=missing, decides=missing) | {
        "GET client-tools": (200, ""),
        "GET runs": (200, ""),
        "GET capabilities": (200, ""),
        "GET agents": (200, ""),
        "GET graphs": (200, ""),
        "POST runs/<run>/resume": missing,
        "GET runs/<run>/graph": missing,
        "GET runs/<run>/forks": missing,
        "POST runs/<run>/fork": missing,
        # Nobody there holds a run of that name (contract 6.2), and a new one may be opened.
        "POST client-runs/<run>/release": (200, ""),
        "POST client-runs": (201, ""),
    }
    assert stage.all_told(stranger) == wanted
    listed = b"".join(stage.ask("GET runs", stranger)), stage.ask("GET client-tools", stranger).content
    assert listed == (b'{"runs":[]}', b'{"client_tools":[]}')
    Run.objects.filter(run_id=stage.fresh_run).delete()
    assert stage.record() == before


def test_another_workspaces_settler_meets_what_is_not_there(stage: Stage) -> None:
    token = people.create_personal_token(
        person=stage.kim.person, actor=stage.kim, scope="decide", lives=timedelta(hours=1)
    ).token
    before = stage.record()
    told = {route: stage.told(route, token) for route in DECIDES | READS if "<run>" in route}
    assert set(told.values()) == {(404, "unknown_run")}
    assert stage.record() == before


def test_the_same_run_id_in_another_workspace_is_another_run(stage: Stage) -> None:
    stranger = a_runtime_token(runtime=a_runtime(admin=stage.kim.workspace, name="checkout-eu-1"))
    reply = Client().post(
        "/v1/client-runs",
        json.dumps({"run_id": stage.run_id}),
        content_type="application/json",
        headers={"Authorization": f"Bearer {stranger}"},
    )
    assert (reply.status_code, reply.json()["log"]) == (201, [])
    assert Run.objects.filter(run_id=stage.run_id).count() == 2


# --- people ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["read", "draft", "decide"])
@pytest.mark.parametrize("name", ["ada", "root"])
def test_a_person_who_settles_nothing_reads_and_nothing_else(stage: Stage, name: str, scope: str) -> None:
    token = stage.personal(name, scope)
    before = stage.record()
    told = stage.all_told(token)
    # The drive token that came along was shown, and being shown keeps a lease alive; nothing else may move.
    assert told == expected(reads=(200, ""), drives=(403, "not_allowed"), decides=(403, "not_allowed"))
    after = stage.record()
    for run in (*before[0], *after[0]):
        del run["lease_seen_at"]
    assert after == before


@pytest.mark.parametrize("scope", ["read", "draft"])
def test_a_settlers_token_settles_only_with_the_scope_to_decide(stage: Stage, scope: str) -> None:
    token = stage.personal("noor", scope)
    told = stage.all_told(token)
    assert told == expected(reads=(200, ""), drives=(403, "not_allowed"), decides=(403, "not_allowed"))
    assert not Settlement.objects.exists()


@pytest.mark.parametrize("route", sorted(DECIDES))
def test_a_settler_with_the_scope_to_decide_settles_and_abandons_and_drives_nothing(stage: Stage, route: str) -> None:
    token = stage.personal("noor", "decide")
    told = {other: stage.told(other, token) for other in EVERY if other not in DECIDES}
    assert told == {
        other: answer
        for other, answer in expected(reads=(200, ""), drives=(403, "not_allowed"), decides=None).items()
        if other not in DECIDES
    }
    assert stage.told(route, token) == (200, "")
    assert Settlement.objects.get().person_id == stage.cast.actor("noor").person.pk


# --- the runtime's own token -----------------------------------------------------------------------------------------


def test_a_runtime_decides_nothing_about_its_own_write(stage: Stage) -> None:
    told = {route: stage.ask(route, stage.driver.token) for route in sorted(DECIDES)}
    for route, reply in told.items():
        error = reply.json()["error"]
        assert (route, reply.status_code, error["code"]) == (route, 403, "client_completion_refused")
        assert "inbox" in error["message"]
    assert stage.driver.run.state == "needs_reconciliation"
    assert not Settlement.objects.exists()


def test_a_runtime_reads_everything_of_its_workspace(stage: Stage) -> None:
    other = a_runtime_token(runtime=a_runtime(admin=stage.cast.workspace, name="checkout-eu-5"))
    for token in (stage.driver.token, other):
        told = {route: stage.told(route, token) for route in sorted(READS | set(ABSENT))}
        assert told == dict.fromkeys(READS, (200, "")) | ABSENT


def test_a_runtime_abandons_a_run_that_waits_for_no_write(stage: Stage) -> None:
    assert stage.driver.report(OUTPUT) is None
    assert stage.told("POST runs/<run>/abandon", stage.driver.token) == (200, "")
    assert stage.driver.run.state == "abandoned"


# --- what is kept to ourselves ---------------------------------------------------------------------------------------


def test_no_token_stands_in_an_answer_or_a_log(
    stage: Stage, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    secrets = {
        "runtime": stage.driver.token,
        "drive": stage.driver.drive_token,
        "person": stage.personal("noor", "decide"),
        "dead": "srt_" + "0" * 64,
    }
    told = []
    for name, token in secrets.items():
        if name == "drive":
            continue
        for route in EVERY:
            reply = stage.ask(route, token)
            body = (b"".join(reply) if reply.streaming else reply.content).decode()
            told.append(f"{reply.headers}{body}")
    out, err = capfd.readouterr()
    said = [*told, caplog.text, out, err]
    leaks = {name for name, secret in secrets.items() for text in said if secret in text}
    assert leaks == set()
