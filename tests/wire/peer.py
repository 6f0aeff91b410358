"""A client of `/v1`, written from the contract: it sends bytes and sees status and JSON."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from typing import Any

from django.test import Client

from salvor_admin.people.models import Workspace
from tests.runtimes.factories import a_runtime, a_runtime_token

EPOCH = "1970-01-01T00:00:00Z"


@dataclass
class Reply:
    status: int
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])

    @property
    def message(self) -> str:
        return str(self.json["error"]["message"])

    @property
    def refusal(self) -> tuple[int, str]:
        return self.status, self.code


@dataclass
class Peer:
    """A runtime, or a person's script, with its bearer token."""

    token: str
    http: Client = field(default_factory=Client)

    def send(self, method: str, path: str, body: Any = None, *, drive: str | None = None, **headers: str) -> Reply:
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"Authorization": f"Bearer {self.token}", **headers}
        if drive is not None:
            given["X-Drive-Token"] = drive
        response = self.http.generic(method, f"/v1/{path}", raw, content_type="application/json", headers=given)
        content = b"".join(response.streaming_content) if response.streaming else response.content
        return Reply(response.status_code, content.decode())

    def get(self, path: str, **headers: str) -> Reply:
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any = None, *, drive: str | None = None) -> Reply:
        return self.send("POST", path, body, drive=drive)

    def open(self, run_id: str | None = None, *, drive: str | None = None, **more: Any) -> Reply:
        return self.post("client-runs", {"run_id": run_id, **more}, drive=drive)

    def run(self, *, begun: bool = True, **more: Any) -> Driven:
        opened = self.open(**more)
        assert opened.status == 201, opened.text
        run = Driven(self, opened.json["run"], opened.json["drive_token"])
        if begun:
            assert (
                run.append({"kind": "RunStarted", "payload": {"agent_def_hash": "sha256:desk", "input": 1}}).status
                == 200
            )
        return run


@dataclass
class Driven:
    """A run that the peer drives."""

    peer: Peer
    id: str
    drive: str
    seq: int = 0

    def post(self, what: str, body: Any = None) -> Reply:
        return self.peer.post(f"client-runs/{self.id}/{what}", body, drive=self.drive)

    def envelope(self, seq: int, event: Any) -> dict[str, Any]:
        return {"run_id": self.id, "seq": seq, "schema_version": 1, "recorded_at": EPOCH, "event": event}

    def append(self, *events: Any) -> Reply:
        reply = self.post("events", {"events": [self.envelope(self.seq + at, one) for at, one in enumerate(events)]})
        if reply.status == 200:
            self.seq += len(events)
        return reply

    def intent(self, input: Any, *, tool: str = "refund_card", seq: int | None = None) -> Reply:
        at = self.seq if seq is None else seq
        reply = self.post("client-tool-intent", {"seq": at, "tool": tool, "input": input})
        if reply.status == 200 and at == self.seq:
            self.seq += 2 if reply.json["settled"] else 1
        return reply

    def complete(self, output: Any = None, *, error: Any = None, seq: int | None = None) -> Reply:
        at = self.seq - 1 if seq is None else seq
        body = {"seq": at, **({"output": output} if output is not None else {}), **({"error": error} if error else {})}
        reply = self.post("client-tool-completion", body)
        if reply.status == 200:
            self.seq += 1
        return reply

    @property
    def log(self) -> list[Any]:
        return list(self.peer.get(f"client-runs/{self.id}/log").json["log"])

    @property
    def kinds(self) -> list[str]:
        return [envelope["event"]["kind"] for envelope in self.log]

    @property
    def state(self) -> str:
        return str(self.detail["status"]["state"])

    @property
    def detail(self) -> Any:
        return self.peer.get(f"runs/{self.id}").json


def a_peer(workspace: Workspace, *, lease_ttl_seconds: int = 60) -> Peer:
    """A runtime of its own with a token."""
    runtime = a_runtime(admin=workspace, name=f"peer-{uuid.uuid4().hex[:8]}", lease_ttl_seconds=lease_ttl_seconds)
    return Peer(a_runtime_token(runtime=runtime))
