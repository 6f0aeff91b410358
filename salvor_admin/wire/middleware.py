"""`/v1` answers before the stack of pages: no session, no cookies, no policy headers to pay for."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

from salvor_admin.wire import routes

PREFIX = "/v1/"


class LeanWire:
    """Answers `/v1` itself and lets everything else pass."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        if path.startswith(PREFIX):
            return routes.answer(request, path[len(PREFIX) :])
        if path == "/v1":
            return routes.answer(request, "")
        return self.get_response(request)
