"""One form of answer, so there is little to negotiate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

_TAKES_JSON: Final = frozenset({"*/*", "application/json"})


class OnlyJson(DefaultContentNegotiation):
    """JSON to whoever takes it; what else an `Accept` says is weighed as DRF does."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        if request.META.get("HTTP_ACCEPT", "*/*") in _TAKES_JSON:
            (renderer,) = renderers
            return renderer, renderer.media_type
        chosen: tuple[BaseRenderer, str] = super().select_renderer(request, renderers, format_suffix)
        return chosen
