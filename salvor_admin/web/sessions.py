"""Pages for signed-in people, and what happens when a session has ended meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url

from salvor_admin.domain.refusals import Refusal
from salvor_admin.web import refusals_page
from salvor_admin.web.addresses import page_address
from salvor_admin.web.htmx import wants_fragment

P = ParamSpec("P")


def sign_in_address(request: HttpRequest) -> str:
    """Where to sign in, with the way back."""
    sign_in = resolve_url(settings.LOGIN_URL)
    back = page_address(request)
    if back is None or urlsplit(back).path == sign_in:
        return sign_in
    return f"{sign_in}?{urlencode({'next': back})}"


def session_ended(request: HttpRequest) -> HttpResponse:
    """Nothing is done without a session. A fragment never gets a sign-in form; what was typed is shown back."""
    address = sign_in_address(request)
    if wants_fragment(request):
        response = HttpResponse(status=401)
        response["HX-Redirect"] = address
        return response
    if request.method in {"GET", "HEAD"}:
        return HttpResponseRedirect(address)
    ended = Refusal(
        "session_ended",
        "Your session has ended, so nothing was done. Sign in and send it again; what you typed is kept below.",
    )
    return refusals_page.refused(request, ended, next_steps=[refusals_page.Step("Sign in", address)])


def signed_in(
    view: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """A view that only signed-in people reach."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            return session_ended(request)
        return view(request, *args, **kwargs)

    return guarded
