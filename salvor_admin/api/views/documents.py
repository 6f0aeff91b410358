"""Documents and their revisions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from salvor_admin.api import rendering
from salvor_admin.api.serializers import documents as shapes
from salvor_admin.api.views.api_view import PAGING, ApiView, members_of, page_of, person_of, query_of
from salvor_admin.domain import client_tools, strict_json
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.review import Kind
from salvor_admin.domain.rights import Scope
from salvor_admin.domain.strict_json import Json
from salvor_admin.reviews import access, selectors, services
from salvor_admin.reviews.services import Source


class All(ApiView):
    """The workspace's documents by label."""

    purpose = "list documents"

    @extend_schema(
        operation_id="documents_list",
        parameters=[
            OpenApiParameter("kind", enum=shapes.KINDS),
            OpenApiParameter("q", str, description="Part of the label, in any case."),
            OpenApiParameter("limit", int),
            OpenApiParameter("cursor", str),
        ],
        responses=shapes.DocumentListOut,
    )
    def get(self, request: Request) -> HttpResponse:
        actor = person_of(request)
        query = query_of(request, ("kind", "q", *PAGING))
        kind = query.get("kind", "")
        if kind and kind not in shapes.KINDS:
            raise Refusal("bad_request", f"kind is one of {', '.join(shapes.KINDS)}; send one of them.", place="kind")
        rows = selectors.documents(actor.workspace_id, kind=kind or None)
        if query.get("q"):
            rows = rows.filter(label__icontains=query["q"])
        found, following = page_of(request, rows, ("label", "id"), query)
        return rendering.answer(request, shapes.DocumentListOut({"results": found, "next": following}).data)


class One(ApiView):
    """One document: what is live of it, and every revision there ever was."""

    purpose = "read documents"

    @extend_schema(responses=shapes.DocumentOut)
    def get(self, request: Request, pk: UUID) -> HttpResponse:
        query_of(request, ())
        document = access.document(person_of(request), pk)
        read = shapes.ReadDocument(document, selectors.revisions(document.pk))
        return rendering.answer(request, shapes.DocumentOut(read).data)


class Revisions(ApiView):
    """A new revision of a document, which is made when there is none of that name; an open change takes it up."""

    people = {"POST": Scope.DRAFT}
    purpose = "save a revision"

    @extend_schema(request=shapes.RevisionIn, responses={201: shapes.SavedRevisionOut})
    def post(self, request: Request, kind: str) -> Response:
        actor = person_of(request)
        sent = members_of(request, shapes.RevisionIn)
        body, source = _body(kind, sent)
        revision = services.save_revision(
            actor=actor, kind=kind, body=body, source=source, base_revision=sent.get("base_revision")
        )
        saved = shapes.SavedRevision(revision, selectors.findings_of_revision(revision))
        return Response(shapes.SavedRevisionOut(saved).data, status=201)


def _body(kind: str, sent: dict[str, Any]) -> tuple[Json, Source]:
    if ("body" in sent) == ("body_text" in sent):
        raise Refusal("bad_request", "Send the document as `body` or as `body_text`, one of the two.", place="/body")
    if "body" in sent:
        return sent["body"], Source("api")
    raw = sent["body_text"].encode()
    source = Source("api", raw=raw)
    if raw.lstrip()[:1] == b"{":
        return strict_json.read_strict(raw), source
    if kind == Kind.CLIENT_TOOL:
        return client_tools.to_document(client_tools.from_toml(raw)), source
    raise Refusal("bad_request", f"The text of a {kind} is a JSON object here; send one.", place="/body_text")
