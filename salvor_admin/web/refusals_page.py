"""Errors as pages: what was refused, why, and what next; for htmx a notice in the page that asked."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import (
    BadRequest,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.template.loader import render_to_string
from django.urls import Resolver404
from django.utils.cache import patch_vary_headers

from salvor_admin.domain.refusals import Refusal
from salvor_admin.web import layout
from salvor_admin.web.addresses import page_address
from salvor_admin.web.htmx import into_notices, wants_fragment
from salvor_admin.web.statuses import status_of
from salvor_admin.web.surfaces import surface_of

log = logging.getLogger(__name__)

TITLES = {
    400: "This request cannot be read",
    401: "You are not signed in",
    403: "You may not do this",
    404: "Nothing is here",
    405: "This address does not take that request",
    409: "Not as things stand",
    412: "It has changed since you looked",
    413: "That is too much at once",
    415: "This form of content is not taken",
    422: "A rule says no",
    429: "Too many tries",
    500: "Something broke on our side",
}
# The state of things may change; the rest will be refused again.
_PASSING = frozenset({401, 404, 409, 412, 429})
_SECRET_FIELD = re.compile(r"csrfmiddlewaretoken|pass|token|secret|otp", re.IGNORECASE)
_MOST_KEPT = 200_000
#: What reading a form raises when it cannot be read: the page about it must not read it again.
_UNREADABLE = (BadRequest, SuspiciousOperation, UnreadablePostError)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do next."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Kept:
    """What was typed in one field, shown back."""

    name: str
    value: str


def _kept_text(request: HttpRequest) -> list[Kept]:
    if request.method != "POST":
        return []
    try:
        fields = [(name, value) for name, values in request.POST.lists() for value in values]
    except _UNREADABLE:
        return []
    kept = [Kept(name, str(value)) for name, value in fields if value and not _SECRET_FIELD.search(name)]
    return kept if sum(len(field.value) for field in kept) <= _MOST_KEPT else []


def _file_names(request: HttpRequest) -> list[str]:
    try:
        return [str(file.name) for _, files in request.FILES.lists() for file in files]
    except _UNREADABLE:
        return []


def _back(request: HttpRequest) -> list[Step]:
    address = page_address(request) if request.method not in {"GET", "HEAD"} else None
    return [Step("Back to the page", address)] if address else []


def refused(
    request: HttpRequest, refusal: Refusal, *, status: int | None = None, next_steps: Sequence[Step] | None = None
) -> HttpResponse:
    """The answer to a refusal: a page, or for htmx a notice; its code and status are always shown."""
    status = status_of(refusal.code) if status is None else status
    context: dict[str, Any] = {
        "refusal": refusal,
        "status": status,
        "title": TITLES.get(status, "Refused"),
        "tone": "warn" if status in _PASSING else "stop",
        "method": request.method,
        "asked_path": request.path,
        "reload": status in {409, 412} or refusal.code == "stale_form",
    }
    if wants_fragment(request):
        body = render_to_string("_refusal.html", context, request=request)
        response = into_notices(HttpResponse(body, status=status))
    else:
        context["kept"] = _kept_text(request)
        context["files"] = _file_names(request)
        context["steps"] = _back(request) if next_steps is None else next_steps
        response = HttpResponse(_page(request, context), status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _page(request: HttpRequest, context: dict[str, Any]) -> str:
    try:
        return render_to_string("errors/refused.html", context, request=request)
    except Exception:
        # The frame around the error asks the database for names and counts; without it the error still gets told.
        log.exception("The frame of an error page could not be drawn.")
        return render_to_string("errors/refused.html", {**context, **layout.plain_frame(request)})


def of_exception(request: HttpRequest, exception: BaseException) -> HttpResponse | None:
    """The answer to what a view raised, when it is a refusal of some kind; None when it is a mistake of ours."""
    if isinstance(exception, Refusal):
        return _answer(request, exception)
    if isinstance(exception, RequestDataTooBig):
        return _answer(request, _too_large())
    if isinstance(exception, (TooManyFieldsSent, TooManyFilesSent)):
        return _answer(request, Refusal("bad_request", "The form has too many fields to be read. Send fewer at once."))
    return None


def _answer(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    respond = surface_of(request)
    return respond(request, refusal, status_of(refusal.code)) if respond else refused(request, refusal)


def _too_large() -> Refusal:
    return Refusal("payload_too_large", "More was sent than is taken at once, so nothing was read. Send it in parts.")


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Django's handler for 400."""
    if isinstance(exception, RequestDataTooBig):
        return _answer(request, _too_large())
    return _answer(
        request,
        Refusal("bad_request", "The request could not be read, so nothing was done. Go back and send it again."),
    )


def forbidden(request: HttpRequest, exception: PermissionDenied | None = None) -> HttpResponse:
    """Django's handler for 403."""
    return _answer(
        request,
        Refusal("not_allowed", "You may not do this here, and nothing was done. Ask an admin of the workspace."),
    )


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Django's handler for 404; what is hidden and what is missing read alike."""
    if exception is None or isinstance(exception, Resolver404):
        unknown = "No page has this address. Check it for a slip, or start from the first page."
        return _answer(request, Refusal("unknown_path", unknown))
    missing = "There is no such thing here, or not for you. Check the address, or start from the list it stood in."
    return _answer(request, Refusal("not_found", missing))


def method_not_allowed(request: HttpRequest, allowed: str) -> HttpResponse:
    """405 with the methods that the address does take."""
    response = _answer(
        request,
        Refusal(
            "method_not_allowed",
            f"This address takes {allowed or 'nothing'}, not {request.method}, so nothing was done. "
            "Open the page it belongs to and use its buttons.",
        ),
    )
    response["Allow"] = allowed
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form from before the present sign-in, or from elsewhere: nothing done, what was typed is shown back."""
    return _answer(
        request,
        Refusal(
            "stale_form",
            "This page is older than your present sign-in, or was not sent from here, so its form is not taken and nothing "
            "was done. Reload the page and send it again; what you typed is kept.",
        ),
    )


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler for 500: no database, no frame that could fail as well."""
    broken = Refusal(
        "internal",
        "The server made a mistake, and it has been noted. Try again in a while; if it stays, tell whoever runs this "
        "installation when it was and what is written below."
        + (
            ""
            if request.method in {"GET", "HEAD"}
            else " Whether what you asked for was done is not known: look at it anew before you send it again."
        ),
    )
    respond = surface_of(request)
    if respond is not None:
        return respond(request, broken, 500)
    context: dict[str, Any] = {
        "refusal": broken,
        "status": 500,
        "title": TITLES[500],
        "tone": "stop",
        "method": request.method,
        "asked_path": request.path,
        **layout.plain_frame(request),
    }
    if wants_fragment(request):
        return into_notices(HttpResponse(render_to_string("_refusal.html", context), status=500))
    context["kept"] = _kept_text(request)
    return HttpResponse(render_to_string("errors/refused.html", context), status=500)
