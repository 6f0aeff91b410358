"""Documents, their revisions, and the catalogue that runtimes load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from salvor_admin.api.fields import FreeJson, Id, Instant, OneOf, StoredJson, Text, Whole
from salvor_admin.api.serializers.change_requests import FindingOut
from salvor_admin.domain import client_tools, review
from salvor_admin.domain.strict_json import Json
from salvor_admin.reviews.models import Document, Finding, Revision
from salvor_admin.runtimes.selectors import LiveCatalogue

KINDS = [kind.value for kind in review.Kind]


# --- out -------------------------------------------------------------------------------------------------------------


class DocumentRowOut(serializers.Serializer[Any]):
    """A document in a list; without a live revision it is not served."""

    id = Id()
    kind = OneOf(choices=KINDS)
    key = Text()
    label = Text()  # type: ignore[assignment]
    live_revision = Whole(source="live_revision.number", allow_null=True)
    live_digest = Text(source="live_revision.digest", allow_null=True)
    last_revision = Whole(source="last_revision_number")


class DocumentListOut(serializers.Serializer[Any]):
    results = DocumentRowOut(many=True)
    next = Text(allow_null=True)


class RevisionRowOut(serializers.Serializer[Any]):
    revision = Whole(source="number")
    digest = Text()
    base_revision = Whole(source="base.number", allow_null=True)
    author = Text(source="author.username")
    saved_at = Instant()
    source = Text()  # type: ignore[assignment]


class LiveRevisionOut(serializers.Serializer[Any]):
    revision = Whole(source="number")
    digest = Text()
    body = StoredJson()


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document with all its revisions, newest first."""

    document: Document
    revisions: list[Revision]


class DocumentOut(serializers.Serializer[Any]):
    id = Id(source="document.id")
    kind = OneOf(choices=KINDS, source="document.kind")
    key = Text(source="document.key")
    label = Text(source="document.label")  # type: ignore[assignment]
    live = LiveRevisionOut(source="document.live_revision", allow_null=True)
    revisions = RevisionRowOut(many=True)


@dataclass(frozen=True, slots=True)
class SavedRevision:
    """What saving told: the revision, and what was found about it."""

    revision: Revision
    findings: list[Finding]


class SavedRevisionOut(serializers.Serializer[Any]):
    document = Id(source="revision.document_id")
    revision = Whole(source="revision.number")
    digest = Text(source="revision.digest")
    findings = FindingOut(many=True)


class ClientToolOut(serializers.Serializer[Any]):
    """As `GET /v1/client-tools` lists it, with the revision and its digest; the last three only where declared."""

    name = Text()
    effect = Text()
    input_schema = FreeJson(allow_null=False)
    trust_completion = serializers.BooleanField()
    output_schema = FreeJson(required=False, allow_null=False)
    require_equal = serializers.ListField(child=Text(), required=False)
    idempotency_key = serializers.ListField(child=Text(), required=False)
    revision = Whole()
    digest = Text()


class LiveAgentOut(serializers.Serializer[Any]):
    id = Id()
    name = Text()
    digest = Text()


class CatalogueOut(serializers.Serializer[Any]):
    publication = Whole()
    client_tools = ClientToolOut(many=True)
    agents = LiveAgentOut(many=True)


def catalogue(live: LiveCatalogue) -> Json:
    """What `CatalogueOut` describes; built straight from the bodies, since every runtime asks for it again and again."""
    return {
        "publication": live.publication,
        "client_tools": [
            {
                **client_tools.listing_entry(client_tools.from_document_text(document.body)),
                "revision": document.revision,
                "digest": document.digest,
            }
            for document in live.of_kind(review.Kind.CLIENT_TOOL)
        ],
        "agents": [
            {"id": str(document.document_id), "name": document.label, "digest": document.digest}
            for document in live.of_kind(review.Kind.AGENT)
        ],
    }


# --- in --------------------------------------------------------------------------------------------------------------


class RevisionIn(serializers.Serializer[Any]):
    """A body as a JSON value, or as text: JSON, or the kind's own file format. One of them."""

    body = FreeJson(required=False)
    body_text = Text(required=False)
    base_revision = Whole(required=False, min_value=0)
