"""Parts of the address space that answer errors in their own form instead of a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from django.http import HttpRequest, HttpResponse

from salvor_admin.domain.refusals import Refusal

Respond: TypeAlias = Callable[[HttpRequest, Refusal, int], HttpResponse]

_surfaces: dict[str, Respond] = {}


def register_surface(prefix: str, respond: Respond) -> None:
    """Errors under `prefix` (`/v1/`) are answered by `respond(request, refusal, status)`."""
    _surfaces[prefix] = respond


def surface_of(request: HttpRequest) -> Respond | None:
    """Who answers errors for this address; None for pages."""
    return next((respond for prefix, respond in _surfaces.items() if request.path_info.startswith(prefix)), None)
