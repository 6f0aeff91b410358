"""What every page request passes: the one reading of this machine's clock, and refusals turned into pages."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils.cache import patch_cache_control

from salvor_admin.web import refusals_page
from salvor_admin.web.surfaces import surface_of


class Pages:
    """Stamps the request with the time it came, answers refusals, keeps pages out of shared caches."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # For words like "5 h ago" alone; what is due or lapsed is judged by the database's clock.
        request.received_at = datetime.now(UTC)  # type: ignore[attr-defined]  # noqa: TID251
        response = self.get_response(request)
        if surface_of(request) is not None:
            return response
        if isinstance(response, HttpResponseNotAllowed):
            response = refusals_page.method_not_allowed(request, response["Allow"])
        if not response.has_header("Cache-Control"):
            patch_cache_control(response, private=True, no_cache=True)
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return refusals_page.of_exception(request, exception)
