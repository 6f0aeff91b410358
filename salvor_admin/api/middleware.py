"""`/api` answers before the stack of pages: it takes tokens alone, so sessions, cookies and forms are nothing to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import SimpleTemplateResponse
from django.urls import get_resolver

PREFIX: Final = "/api/"
#: What is read in a browser stays a page.
PAGES: Final = frozenset({"/api/docs/"})
#: What pages get from the stack and JSON needs as well.
HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


class LeanApi:
    """Answers `/api/` itself and lets everything else pass."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        if not path.startswith(PREFIX) or path in PAGES:
            return self.get_response(request)
        match = get_resolver().resolve(path)
        request.resolver_match = match
        response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
        if isinstance(response, SimpleTemplateResponse):
            response = response.render()
        for name, value in HEADERS.items():
            response.headers[name] = value
        return response
