"""What the web server is answered is what the middleware answers, with less round it."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import pytest
from django.core.wsgi import get_wsgi_application
from django.db import connection

from salvor_admin.wire.lean import LeanApplication

# Not inside a transaction: at the end of each request Django closes a connection that is in one.
pytestmark = pytest.mark.django_db(transaction=True)


def environ(path: str, method: str = "GET", **more: Any) -> dict[str, Any]:
    return {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
        **more,
    }


def answered(application: Any, asked: dict[str, Any]) -> tuple[str, dict[str, str], bytes]:
    told: list[Any] = []
    parts: Iterable[bytes] = application(asked, lambda status, headers, _=None: told.extend((status, headers)))
    return told[0], dict(told[1]), b"".join(parts)


@pytest.mark.parametrize(
    ("path", "method"),
    [
        ("/v1/capabilities", "GET"),
        ("/v1/nothing/here", "GET"),
        ("/v1/client-runs", "GET"),
        ("/v1/client-runs/\u00e9/events", "POST"),
        ("/v1/", "HEAD"),
    ],
)
def test_both_ways_in_say_the_same(path: str, method: str) -> None:
    asked = environ(path, method, HTTP_AUTHORIZATION="Bearer srt_unknown")
    whole = get_wsgi_application()
    status, headers, body = answered(LeanApplication(whole), dict(asked))
    assert (status, headers, body) == answered(whole, dict(asked))
    assert status.startswith(("401", "404"))


@pytest.mark.parametrize("path", ["/", "/v1", "/v10/client-tools", "/api/catalogue/", "/healthz"])
def test_everything_else_is_left_to_the_whole_application(path: str) -> None:
    def whole(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("200 OK", [])
        return [environ["PATH_INFO"].encode()]

    assert answered(LeanApplication(whole), environ(path))[2] == path.encode()


def test_a_connection_that_failed_is_not_used_again() -> None:
    connection.ensure_connection()
    connection.errors_occurred = True
    connection.connection.close()
    answered(LeanApplication(get_wsgi_application()), environ("/v1/nothing"))
    assert connection.connection is None
