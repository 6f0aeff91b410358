"""Addresses of this very site, and no others."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

from salvor_admin.web.htmx import wants_fragment

_LONGEST = 2000


def safe_path(request: HttpRequest, candidate: str | None) -> str | None:
    """The path and query of an address on this very site; None for everything else."""
    if not candidate or len(candidate) > _LONGEST:
        return None
    if not url_has_allowed_host_and_scheme(candidate, allowed_hosts={request.get_host()}):
        return None
    parts = urlsplit(candidate)
    # What is left must be one path of ours: `//evil.example` and a bare word would both lead elsewhere.
    if not parts.path.startswith("/") or parts.path.startswith("//"):
        return None
    return parts.path + (f"?{parts.query}" if parts.query else "")


def page_address(request: HttpRequest) -> str | None:
    """The address of the page that the person sees: of a GET its own, else of the page that sent it."""
    if wants_fragment(request):
        return safe_path(request, request.headers.get("HX-Current-URL"))
    if request.method in {"GET", "HEAD"}:
        return safe_path(request, request.get_full_path())
    return safe_path(request, request.headers.get("Referer"))
