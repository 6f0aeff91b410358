"""`/v1` as the web server calls it: before Django's handler, whose signals and wrapping cost as much as our own rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from django.core.handlers.wsgi import WSGIRequest
from django.db import connection
from django.http import HttpResponse

from salvor_admin.wire import routes

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

PREFIX: Final = "/v1/"


class LeanApplication:
    """Answers `/v1` as the middleware would, and hands everything else to the whole application."""

    def __init__(self, whole: WSGIApplication) -> None:
        self.whole = whole

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if not environ.get("PATH_INFO", "").startswith(PREFIX):
            return self.whole(environ, start_response)
        request = WSGIRequest(environ)
        response: Any = routes.answer(request, request.path_info[len(PREFIX) :])
        start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
        if not isinstance(response, HttpResponse):
            # Streamed: it reads on while it is sent, and tells Django itself when it is closed.
            stream: Iterable[bytes] = response
            return stream
        # What Django does at the end of a request that concerns us: a connection that failed is not used again.
        # Inside a caller's own transaction it is not ours to close.
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
        return [response.content]
