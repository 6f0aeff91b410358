"""Routes of `/api`."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, path, re_path

from salvor_admin.api import errors
from salvor_admin.api.views import calls, catalogue, change_requests, description, documents
from salvor_admin.web.statuses import status_of
from salvor_admin.web.surfaces import register_surface

register_surface("/api/", errors.respond)


def unknown(request: HttpRequest) -> HttpResponse:
    """Whatever else is asked for under `/api/`."""
    refusal = errors.unknown_path()
    return errors.respond(request, refusal, status_of(refusal.code))


unknown.csrf_exempt = True  # type: ignore[attr-defined]

app_name = "api"
urlpatterns: list[URLPattern | URLResolver] = [
    path("catalogue/", catalogue.Live.as_view(), name="catalogue"),
    path("calls/", calls.All.as_view(), name="calls"),
    path("calls/<uuid:pk>/", calls.One.as_view(), name="call"),
    path("calls/<uuid:pk>/claim/", calls.Claim.as_view(), name="claim"),
    path("calls/<uuid:pk>/release/", calls.Release.as_view(), name="release"),
    path("calls/<uuid:pk>/settle/", calls.Settle.as_view(), name="settle"),
    path("calls/<uuid:pk>/abandon/", calls.Abandon.as_view(), name="abandon"),
    path("calls/<uuid:pk>/unknown/", calls.Unknown.as_view(), name="leave_unknown"),
    path("documents/", documents.All.as_view(), name="documents"),
    path("documents/<uuid:pk>/", documents.One.as_view(), name="document"),
    path("documents/<slug:kind>/revisions/", documents.Revisions.as_view(), name="revisions"),
    path("change-requests/", change_requests.All.as_view(), name="change_requests"),
    path("change-requests/<uuid:pk>/", change_requests.One.as_view(), name="change_request"),
    path("change-requests/<uuid:pk>/verdicts/", change_requests.Verdicts.as_view(), name="verdicts"),
    path("change-requests/<uuid:pk>/publish/", change_requests.Publish.as_view(), name="publish"),
    path("change-requests/<uuid:pk>/withdraw/", change_requests.Withdraw.as_view(), name="withdraw"),
    path("schema/", description.Schema.as_view(), name="schema"),
    path("docs/", description.docs, name="docs"),
    re_path(r"", unknown, name="unknown"),
]
