"""Routes of wire, so that the URL map knows them; `middleware.LeanWire` answers before it is asked."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.urls import URLPattern, URLResolver, path

from salvor_admin.wire import routes


def _answer(request: HttpRequest, **parts: str) -> HttpResponseBase:
    return routes.answer(request, request.path_info.removeprefix("/v1/"))


app_name = "wire"
urlpatterns: list[URLPattern | URLResolver] = [
    path(route.replace("<", "<str:"), _answer, name=route.replace("/", "-").replace("<", "").replace(">", ""))
    for route in routes.ROUTES
]
