"""Client tools and change requests, made through the services."""

from __future__ import annotations

from typing import Any

from salvor_admin.domain import client_tools, review
from salvor_admin.people.access import Actor
from salvor_admin.reviews import publishing, services
from salvor_admin.reviews.models import ChangeRequest, Publication, Revision
from salvor_admin.reviews.services import WantedItem

REFUND_CARD = b"""\
name = "refund_card"
effect = "write"
trust_completion = true
require_equal = ["amount_cents"]
idempotency_key = ["order_id"]

[input_schema]
type = "object"
required = ["order_id", "amount_cents"]

[input_schema.properties.order_id]
type = "string"

[input_schema.properties.amount_cents]
type = "integer"
minimum = 1

[output_schema]
type = "object"
required = ["amount_cents", "provider_refund_id"]

[output_schema.properties.amount_cents]
type = "integer"

[output_schema.properties.provider_refund_id]
type = "string"
"""


def refund_card(**changes: Any) -> Any:
    """The document of `refund_card`, with members changed or (None) left out."""
    body: dict[str, Any] = dict(client_tools.to_document(client_tools.from_toml(REFUND_CARD)))  # type: ignore[arg-type]
    for name, value in changes.items():
        if value is None:
            body.pop(name, None)
        else:
            body[name] = value
    return body


def a_revision(*, author: Actor, **changes: Any) -> Revision:
    return services.save_revision(actor=author, kind="client_tool", body=refund_card(**changes))


def a_submitted_change(*, author: Actor, **changes: Any) -> ChangeRequest:
    revision = a_revision(author=author, **changes)
    return services.open_change_request(
        actor=author, items=[WantedItem(revision.document_id)], reason="Refunds by agents.", submit=True
    )


def an_approved_change(*, author: Actor, reviewer: Actor, **changes: Any) -> ChangeRequest:
    request = a_submitted_change(author=author, **changes)
    return services.give_verdict(
        request_id=request.pk, actor=reviewer, verdict=review.Verdict.APPROVE, digest=request.digest
    )


def a_published_tool(*, author: Actor, reviewer: Actor, publisher: Actor, **changes: Any) -> Publication:
    request = an_approved_change(author=author, reviewer=reviewer, **changes)
    return publishing.publish(request_id=request.pk, actor=publisher, digest=request.digest)
