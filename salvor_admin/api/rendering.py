"""Writing answers: compact JSON, numbers spelt as they are kept, and a strong tag over the very bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.utils.cache import patch_vary_headers
from django.utils.http import parse_etags
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from salvor_admin.domain import canonical
from salvor_admin.domain.strict_json import Json


def body_of(value: Json) -> bytes:
    """The bytes an answer is made of; the same value always gives the same."""
    return canonical.text(value).encode()


class CanonicalJson(BaseRenderer):
    """What a view returned, as `body_of` writes it."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return b"" if data is None else body_of(data)


def tag_of(body: bytes) -> str:
    """A strong entity tag over these bytes."""
    return f'"{hashlib.sha256(body).hexdigest()[:40]}"'


def is_held(request: Request | HttpRequest, tag: str) -> bool:
    """Whether the caller says that it already holds the answer with this tag."""
    sent = request.META.get("HTTP_IF_NONE_MATCH")
    if sent is None:
        return False
    # A proxy that compressed the answer may have made the tag a weak one; a read compares weakly (RFC 9110, 13.1.2).
    held = parse_etags(sent)
    return held == ["*"] or tag in held or f"W/{tag}" in held


def not_modified(tag: str) -> HttpResponse:
    """304: what the caller holds is what is."""
    return _cached_by_its_caller(HttpResponseNotModified(), tag)


def answer(request: Request | HttpRequest, value: Json, *, tag: str | None = None) -> HttpResponse:
    """A read with its strong tag, or 304 when the caller holds it already."""
    body = body_of(value)
    tag = tag or tag_of(body)
    if is_held(request, tag):
        return not_modified(tag)
    return _cached_by_its_caller(HttpResponse(body, content_type="application/json"), tag)


def _cached_by_its_caller(response: HttpResponse, tag: str) -> HttpResponse:
    response["ETag"] = tag
    response["Cache-Control"] = "private, no-cache"
    patch_vary_headers(response, ["Authorization"])
    return response
