"""Generated hostile bodies over every route: each is taken or refused by name, and what is taken can be read back.

`SALVOR_HOSTILE=10000 make test T=tests/wire/test_hostile_bodies.py` sends that many, other ones each time.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_from_bytes, urlencode

import pytest
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace
from salvor_admin.web.statuses import STATUS
from salvor_admin.wire.routes import ROUTES
from tests.api.callers import as_person
from tests.api.routes import ROUTES as API_ROUTES
from tests.people.factories import Cast
from tests.routes import collected
from tests.scene import Scene, make_scene
from tests.settlement.factories import INPUT, OUTPUT, a_tool
from tests.wire import hostile
from tests.wire.peer import Driven, Peer

pytestmark = pytest.mark.django_db

TOTAL = int(os.environ.get("SALVOR_HOSTILE", "2000"))
IS_LONG = TOTAL > 2000
#: No single request may take that long on any machine; this is a hang, not a measurement.
HANG_SECONDS = 30
UNSEEN = "5691f3d0-d4aa-45b9-9875-2127c31e039e"
#: A schema whose careless check would take for ever.
HARSH = {
    "type": "object",
    "required": ["order_id", "amount_cents"],
    "properties": {
        "order_id": {"pattern": "^([A-Z0-9-]|[A-Z0-9-]?)+$", "maxLength": 100_000},
        "amount_cents": {"multipleOf": 1e-5},
        "items": {"uniqueItems": True, "items": {"$ref": "#/$defs/node"}},
        "at": {"format": "date-time"},
        "mail": {"format": "email"},
    },
    "$defs": {
        "node": {"anyOf": [{"type": "integer"}, {"items": {"$ref": "#/$defs/node"}}, {"format": "idn-hostname"}]}
    },
}


def examples(share: float) -> Callable[[Any], Any]:
    return settings(
        max_examples=max(1, int(TOTAL * share)),
        deadline=None,
        database=None,
        derandomize=not IS_LONG,
        suppress_health_check=list(HealthCheck),
    )


@contextmanager
def undone() -> Iterator[None]:
    """One try: cut off when it hangs, and taken back, so that the next finds things as this one did."""

    def cut_off(signum: int, frame: Any) -> None:
        raise TimeoutError(f"a request did not end within {HANG_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, cut_off)
    signal.alarm(HANG_SECONDS)
    try:
        with transaction.atomic():
            yield
            transaction.set_rollback(True)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def judge(status: int, text: bytes) -> None:
    """Taken, or refused in the envelope with a known code, its own status and something said; never our mistake."""
    if status < 300:
        return
    error = json.loads(text)["error"]
    assert STATUS[error["code"]] == status
    assert error["code"] != "internal"
    assert error["message"]
    assert set(error) <= {"code", "message", "details"}


# --- /v1 -------------------------------------------------------------------------------------------------------------


@dataclass
class Board:
    """A runtime and a settler, and runs in every state that a route may meet."""

    peer: Peer
    settler: Peer
    runs: list[Driven]

    def bodies(self, run: Driven) -> dict[str, Any]:
        seq = run.seq
        return {
            "client-runs": {"run_id": UNSEEN, "record_prompts": True, "agent": "a", "input": 1},
            "client-runs/<run>/events": {
                "events": [
                    run.envelope(seq, {"kind": "NowObserved", "payload": {"now": "2026-03-04T10:15:30Z"}}),
                    run.envelope(seq + 1, {"kind": "Suspended", "payload": {"reason": "r", "input_schema": {}}}),
                    run.envelope(seq + 2, {"kind": "SleepStarted", "payload": {"wake_at": "2026-03-04T10:15:30Z"}}),
                ]
            },
            "client-runs/<run>/client-tool-intent": {
                "seq": seq,
                "tool": "harsh",
                "input": {**INPUT, "items": [1, [2]]},
            },
            "client-runs/<run>/client-tool-completion": {"seq": max(0, seq - 1), "output": OUTPUT},
            "client-runs/<run>/client-model-intent": {"seq": seq, "request_hash": "h", "request_body": {"m": [1]}},
            "client-runs/<run>/client-model-completion": {
                "seq": max(0, seq - 1),
                "response": {"text": "t"},
                "usage": {"input_tokens": 1, "output_tokens": 2},
            },
            "client-runs/<run>/model-step": {"seq": seq, "request": {"m": 1}},
            "client-runs/<run>/tool-step": {"seq": seq, "tool": "t", "input": {}, "idempotency_key": "k"},
            "client-runs/<run>/resolve": {"output": OUTPUT},
            "runs/<run>/resolve": {"output": OUTPUT},
            "runs/<run>/abandon": {"reason": "Withdrawn."},
            "runs/<run>/resume": {"input": {}},
            "runs": {"agent": "a", "input": {}},
            "graph-runs": {"graph": "g", "input": {}},
        }


@pytest.fixture
def board(peer: Peer, noors: Peer, cast: Cast) -> Board:
    a_tool(cast)
    a_tool(cast, name="harsh", input_schema=HARSH, output_schema={}, require_equal=None, idempotency_key=["order_id"])
    empty, begun, waiting, thinking, recorded = peer.run(begun=False), *(peer.run() for _ in range(4))
    assert waiting.intent(INPUT, tool="harsh").status == 200
    assert thinking.post("client-model-intent", {"seq": 1, "request_hash": "h"}).status == 200
    thinking.seq += 1
    assert recorded.intent(INPUT).status == recorded.complete(OUTPUT).status == 200
    return Board(peer, noors, [empty, begun, waiting, thinking, recorded])


#: Where any JSON may stand in a body, and the run (by its place on the board) whose state lets it be taken.
AIMS: dict[str, tuple[tuple[Any, ...], int]] = {
    "client-runs": (("input",), 0),
    "client-runs/<run>/events": (("events", 1, "event", "payload", "input_schema"), 1),
    "client-runs/<run>/client-tool-intent": (("input", "items"), 1),
    "client-runs/<run>/client-tool-completion": (("output",), 2),
    "client-runs/<run>/client-model-intent": (("request_body",), 1),
    "client-runs/<run>/client-model-completion": (("response",), 3),
    "client-runs/<run>/resolve": (("output",), 2),
    "runs/<run>/resolve": (("output",), 2),
}
POSTS = sorted(path for path, methods in ROUTES.items() if "POST" in methods)
GETS = sorted(path for path, methods in ROUTES.items() if "GET" in methods)
odd_headers = st.text(st.characters(codec="latin-1", exclude_characters="\r\n"), max_size=30) | st.sampled_from(
    ["-1", "1,2", "9" * 40, "٣", "1e3", " 1", "dt_" + "0" * 32, ",", "\t", "a, b"]
)


def send(
    peer: Peer, method: str, path: str, raw: bytes = b"", drive: str | None = None, **headers: str
) -> tuple[int, bytes]:
    given = {"Authorization": f"Bearer {peer.token}", **headers}
    if drive is not None:
        given["X-Drive-Token"] = drive
    response = peer.http.generic(method, path, raw, content_type="application/json", headers=given)
    return response.status_code, b"".join(response.streaming_content) if response.streaming else response.content


def must_read_back(peer: Peer, run_id: str) -> None:
    for path in (
        f"client-runs/{run_id}/log",
        f"runs/{run_id}",
        f"runs/{run_id}/replay",
        f"runs/{run_id}/events",
        "runs",
    ):
        reply = peer.get(path)
        # A run without events is known to its driver alone.
        assert reply.status in {200, 404}
        if reply.status == 200 and not path.endswith("events"):
            json.loads(reply.text)


def test_no_body_breaks_a_route_of_v1(board: Board) -> None:
    @examples(0.6)
    @given(dice=st.data(), path=st.sampled_from(POSTS), pick=st.sampled_from(range(len(board.runs))))
    def attack(dice: st.DataObject, path: str, pick: int) -> None:
        is_aimed = path in AIMS and dice.draw(st.booleans())
        run = board.runs[AIMS[path][1] if is_aimed else pick]
        body = board.bodies(run).get(path, {"a": {"b": [1, "c"]}})
        raw = dice.draw(hostile.aimed(body, AIMS[path][0]) if is_aimed else hostile.spoilt(body))
        peer = dice.draw(st.sampled_from([board.peer, board.settler])) if "resolve" in path else board.peer
        address = "/v1/" + path.replace("<run>", run.id)
        with undone():
            status, text = send(peer, "POST", address, raw, run.drive)
            judge(status, text)
            if status < 300:
                must_read_back(board.peer, run.id)

    attack()


def test_no_query_header_or_name_breaks_a_route_of_v1(board: Board) -> None:
    names = st.text(max_size=20) | st.sampled_from([run.id for run in board.runs])
    queries = st.dictionaries(
        st.sampled_from(["from_seq", "limit", "after", "status", "x"]),
        st.text(max_size=10)
        | st.sampled_from(["0", "1", "-1", "18446744073709551616", "running", *[board.runs[0].id]]),
        max_size=3,
    )

    @examples(0.1)
    @given(path=st.sampled_from(GETS), name=names, query=queries, header=odd_headers, value=odd_headers)
    def attack(path: str, name: str, query: dict[str, str], header: str, value: str) -> None:
        for part in ("<run>", "<agent>", "<graph>"):
            path = path.replace(part, quote(name, safe=""))
        with undone():
            status, text = send(
                board.peer, "GET", f"/v1/{path}?{urlencode(query)}", b"", header, **{"Last-Event-ID": value}
            )
            judge(status, text)

    attack()


def test_the_recorded_values_and_bodies_break_no_route_of_v1(board: Board) -> None:
    run = board.runs[1]
    for raw in [*hostile.BODIES, *hostile.VALUES]:
        for path in POSTS:
            with undone():
                judge(*send(board.peer, "POST", "/v1/" + path.replace("<run>", run.id), raw, run.drive))


# --- /api and pages --------------------------------------------------------------------------------------------------


@pytest.fixture
def scene(workspace: Workspace, cast: Cast, kim: Actor) -> Scene:
    return make_scene(workspace, cast, kim)


def test_no_body_breaks_a_route_of_the_api(scene: Scene) -> None:
    routes = [route for route in API_ROUTES if route.method == "POST"]
    callers = {name: as_person(scene.cast.actor(name)) for name in ("ada", "grace", "pat", "noor", "root")}

    @examples(0.2)
    @given(dice=st.data(), route=st.sampled_from(routes))
    def attack(dice: st.DataObject, route: Any) -> None:
        with undone():
            path = reverse(route.name, kwargs=route.kwargs(scene))
            raw = dice.draw(hostile.spoilt(route.form(scene)))
            reply = callers[min(route.may)].post(path, raw=raw)
            judge(reply.status_code, reply.content)

    attack()


#: Signing out sends nothing but the wish.
PAGES = [
    route
    for route in collected()
    if route.method == "POST" and not route.name.startswith(("wire:", "api:")) and route.name != "people:sign_out"
]


def test_no_form_breaks_a_page(scene: Scene) -> None:
    browsers = {name: scene.client(name) for name in ("ada", "grace", "pat", "noor", "root")}
    odd = hostile.fragments | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass"))

    @examples(0.1)
    @given(dice=st.data(), route=st.sampled_from(PAGES), in_parts=st.booleans())
    def attack(dice: st.DataObject, route: Any, in_parts: bool) -> None:
        with undone():
            kwargs = route.kwargs(scene)
            if not route.is_public and not route.is_outside:
                kwargs = {"workspace": scene.workspace.key, **kwargs}
            form = {name: value for name, value in route.form(scene).items() if not isinstance(value, UploadedFile)}
            names = st.sampled_from(
                [*form, "reason", "text", "toml", "next", "output", "file", "roles", "look_again_at"]
            )
            spoilt = {**form, **dice.draw(st.dictionaries(names, odd, min_size=1, max_size=3))}
            reply = post(browsers[min(route.may)], reverse(route.name, kwargs=kwargs), spoilt, in_parts)
            assert reply.status_code < 500

    attack()


def post(browser: Client, path: str, form: dict[str, Any], in_parts: bool) -> Any:
    """A form as a browser sends one, of bytes that no browser would send."""
    fields = [
        (name, value if isinstance(value, bytes) else str(value).encode())
        for name, given in form.items()
        for value in (given if isinstance(given, list) else [given])
    ]
    if in_parts:
        raw = b"".join(
            f'--edge\r\nContent-Disposition: form-data; name="{name}"'.encode()
            + (b'; filename="a\x00/../b.toml"' if name == "file" else b"")
            + b"\r\n\r\n"
            + value
            + b"\r\n"
            for name, value in fields
        )
        return browser.generic("POST", path, raw + b"--edge--\r\n", "multipart/form-data; boundary=edge")
    raw = "&".join(f"{quote(name)}={quote_from_bytes(value)}" for name, value in fields).encode()
    return browser.generic("POST", path, raw, "application/x-www-form-urlencoded")
