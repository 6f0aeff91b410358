"""What `/api` is: for machines as OpenAPI, for people as a page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from salvor_admin.api import reading, rendering, schema
from salvor_admin.api.parsing import MAX_BODY_BYTES
from salvor_admin.api.views.api_view import ApiView, query_of


class Schema(ApiView):
    """The OpenAPI description; it holds nothing of any workspace, so it asks for no token."""

    people = {}
    authentication_classes = []
    permission_classes = []

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        query_of(request, ())
        return rendering.answer(request, schema.document())


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The same description for people, without a line of script."""
    return render(
        request,
        "api/docs.html",
        {
            "groups": reading.groups(schema.document()),
            "max_body_bytes": MAX_BODY_BYTES,
            "statuses": reading.STATUSES,
        },
    )
