"""Pages that htmx may ask for in part: one template for the page and its fragment."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers
from django_htmx.middleware import HtmxDetails


class HtmxRequest(HttpRequest):
    """A request as the middleware of pages leaves it."""

    htmx: HtmxDetails
    received_at: datetime


def wants_fragment(request: HttpRequest) -> bool:
    """Whether only a part is asked for; going back in history always needs the whole page."""
    details: HtmxDetails | None = getattr(request, "htmx", None)
    return bool(details) and details is not None and not details.boosted and not details.history_restore_request


def render_page(
    request: HttpRequest,
    template: str,
    fragment: str | None,
    context: Mapping[str, Any],
    *,
    status: int = 200,
) -> HttpResponse:
    """The page, or for htmx its fragment alone; the page's template includes the same fragment."""
    name = fragment if fragment is not None and wants_fragment(request) else template
    response = HttpResponse(render_to_string(name, dict(context), request=request), status=status)
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request"])
    return response


def into_notices(response: HttpResponse) -> HttpResponse:
    """Sends a fragment to the page's place for notices, whatever the asking element had in mind."""
    response["HX-Retarget"] = "#notices"
    response["HX-Reswap"] = "innerHTML"
    response["HX-Reselect"] = "unset"
    response["HX-Push-Url"] = "false"
    response["HX-Replace-Url"] = "false"
    return response
