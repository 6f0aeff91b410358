"""What every page request passes: the one reading of this machine's clock, and refusals turned into pages."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils.cache import get_conditional_response, patch_cache_control, set_response_etag

from salvor_admin.web import refusals_page
from salvor_admin.web.htmx import wants_fragment
from salvor_admin.web.surfaces import surface_of


def _unless_unchanged(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """A fragment that is asked for again and again costs its bytes only when it changed."""
    if request.method != "GET" or response.status_code != 200 or response.streaming or not wants_fragment(request):
        return response
    set_response_etag(response)
    unchanged = get_conditional_response(request, etag=response["ETag"], response=response)
    return unchanged if isinstance(unchanged, HttpResponse) else response


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
        return _unless_unchanged(request, response)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return refusals_page.of_exception(request, exception)
