"""What is live, for runtimes to load."""

from __future__ import annotations

from typing import Final

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from salvor_admin.api import rendering
from salvor_admin.api.authentication import RuntimeCaller
from salvor_admin.api.serializers import documents as shapes
from salvor_admin.api.views.api_view import ApiView, caller_of, query_of
from salvor_admin.domain.review import Kind
from salvor_admin.runtimes import selectors, services

#: Rises with every change of what the same publication is answered with.
SHAPE: Final = 1


class Live(ApiView):
    """The live publication: client tools as they are listed on the wire, and agents. Unchanged, it costs one look."""

    runtimes = frozenset({"GET"})
    purpose = "read the catalogue"

    @extend_schema(responses=shapes.CatalogueOut)
    def get(self, request: Request) -> HttpResponse:
        query_of(request, ())
        caller = caller_of(request)
        # Everything that changes what is served is a publication, so its number says whether anything changed.
        publication = caller.workspace.last_publication
        tag = _tag(caller.workspace_id, publication)
        if rendering.is_held(request, tag):
            response = rendering.not_modified(tag)
        else:
            live = selectors.live_catalogue(caller.workspace_id, [Kind.CLIENT_TOOL, Kind.AGENT])
            publication = live.publication
            tag = _tag(caller.workspace_id, publication)
            response = rendering.answer(request, shapes.catalogue(live), tag=tag)
        if isinstance(caller, RuntimeCaller) and caller.runtime.loaded_publication != publication:
            services.record_loaded(runtime_id=caller.runtime.pk, publication=publication)
        return response


def _tag(workspace_id: int, publication: int) -> str:
    return f'"publication-{publication}.{workspace_id}.{SHAPE}"'
