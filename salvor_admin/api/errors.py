"""Everything that goes wrong under `/api`, in one envelope and through the one table of statuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from rest_framework import exceptions

from salvor_admin.api.rendering import body_of
from salvor_admin.domain.refusals import Refusal
from salvor_admin.web.statuses import status_of


def envelope_of(refusal: Refusal) -> dict[str, Any]:
    """`{"error":{"code","message","details"?}}`; the place stands among the details."""
    details = dict(refusal.details)
    if refusal.place is not None:
        details.setdefault("place", refusal.place)
    return {
        "error": {"code": refusal.code, "message": refusal.message, **({"details": details} if details else {})},
    }


def respond(request: HttpRequest, refusal: Refusal, status: int) -> HttpResponse:
    """The answer to a refusal; also what Django's own handlers use for addresses under `/api`."""
    response = HttpResponse(body_of(envelope_of(refusal)), content_type="application/json", status=status)
    response["Cache-Control"] = "no-store"
    if status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


def envelope(exception: Exception, context: Mapping[str, Any]) -> HttpResponse | None:
    """DRF's exception handler: refusals and DRF's own errors; None for a mistake of ours, which is a 500."""
    request: HttpRequest = context["request"]
    refusal = _refusal(exception, request)
    if refusal is None:
        return None
    response = respond(request, refusal, status_of(refusal.code))
    if isinstance(exception, exceptions.MethodNotAllowed):
        response["Allow"] = ", ".join(context["view"].allowed_methods)
    return response


def unknown_path() -> Refusal:
    return Refusal(
        "unknown_path", "No such address under /api/. The schema at /api/schema/ lists them; each ends in a slash."
    )


def _refusal(exception: Exception, request: HttpRequest) -> Refusal | None:
    match exception:
        case Refusal():
            return exception
        case exceptions.MethodNotAllowed():
            return Refusal(
                "method_not_allowed",
                f"{request.method} is not possible here; the header Allow lists what is.",
            )
        case exceptions.UnsupportedMediaType():
            return Refusal(
                "unsupported_media_type",
                "The body must be JSON; send it with `Content-Type: application/json`.",
            )
        case exceptions.NotAcceptable():
            return Refusal("not_acceptable", "Only application/json is answered here; ask for that, or for */*.")
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            return Refusal("unauthorized", "No token was sent; send `Authorization: Bearer` with one.")
        case exceptions.PermissionDenied() | PermissionDenied():
            return Refusal("not_allowed", "This token may not do that; ask an admin of the workspace.")
        case Http404() | exceptions.NotFound():
            return Refusal("not_found", "There is no such thing here. Check the id, or look at the list again.")
        case RequestDataTooBig():
            return Refusal("payload_too_large", "The body is larger than is taken at once; send less.")
        case exceptions.ParseError() | UnreadablePostError():
            return Refusal("bad_request", "The request could not be read to its end; send it again.")
        case _:
            return None
