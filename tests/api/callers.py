"""Speaking to `/api` with a token."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from salvor_admin.people import services as people
from salvor_admin.people.access import Actor
from salvor_admin.runtimes.models import Runtime
from tests.runtimes.factories import a_runtime_token


class Caller:
    """A client that sends one token with everything."""

    def __init__(self, token: str | None) -> None:
        self.client = Client(raise_request_exception=True)
        self.headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(path, headers={**self.headers, **_dashed(headers)})

    def post(self, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str) -> Any:
        content = raw if raw is not None else json.dumps({} if body is None else body).encode()
        return self.client.post(
            path, content, content_type="application/json", headers={**self.headers, **_dashed(headers)}
        )

    def send(self, method: str, path: str, content: bytes, content_type: str) -> Any:
        return self.client.generic(method, path, content, content_type, headers=self.headers)


def _dashed(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def token_of(actor: Actor, scope: str = "decide") -> str:
    return people.create_personal_token(
        person=actor.person, scope=scope, lives=timedelta(hours=1), actor=people.Shell(actor.workspace)
    ).token


def as_person(actor: Actor, scope: str = "decide") -> Caller:
    """The person's own automation."""
    return Caller(token_of(actor, scope))


def as_runtime(runtime: Runtime) -> Caller:
    return Caller(a_runtime_token(runtime=runtime))


def queries(caller: Caller, address: str) -> int:
    """How many statements a read costs, once the token's use was noted."""
    caller.get(address)
    with CaptureQueriesContext(connection) as seen:
        assert caller.get(address).status_code == 200
    return len(seen)


def told(response: HttpResponse) -> tuple[int, str]:
    """Status and code of a refusal, which always stands in the envelope."""
    error = json.loads(response.content)["error"]
    assert set(error) <= {"code", "message", "details"}
    assert error["message"]
    assert response["Content-Type"] == "application/json"
    return response.status_code, error["code"]
