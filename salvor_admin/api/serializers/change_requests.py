"""Change requests: as they are read, and what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from salvor_admin.api.fields import FreeJson, Id, Instant, OneOf, Text, Whole
from salvor_admin.domain import changes, review, strict_json
from salvor_admin.domain.findings.finding import Severity
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Scope
from salvor_admin.people import access as people_access
from salvor_admin.people.access import Actor
from salvor_admin.reviews.models import ChangeItem, ChangeRequest, Finding, Verdict
from salvor_admin.reviews.selectors import RequestDetail

STATES = [state.value for state in review.State]


# --- out -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadItem:
    """One document of a change request with what changes in it, member by member."""

    item: ChangeItem
    changes: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ReadVerdict:
    """A verdict, and whether it counts: given on what is there now, by somebody who still may."""

    verdict: Verdict
    counts: bool


@dataclass(frozen=True, slots=True)
class May:
    """Whether this caller may, and what stands in the way."""

    allowed: bool
    why: str | None


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A change request as one person's token sees it."""

    request: ChangeRequest
    items: list[ReadItem]
    findings: list[Finding]
    verdicts: list[ReadVerdict]
    may: Mapping[str, May]


def read_request(detail: RequestDetail, actor: Actor) -> ReadRequest:
    """Everything `GET /api/change-requests/{id}/` tells, from what was read."""
    barred = frozenset[int]().union(*(item.authors for item in detail.facts.items))
    standing = {given.person_id for given in detail.facts.verdicts if given.person_may} - barred
    person = people_access.facts(actor)
    return ReadRequest(
        request=detail.request,
        items=[ReadItem(item, _changes(item)) for item in detail.items],
        findings=detail.findings,
        verdicts=[
            ReadVerdict(each, each.digest == detail.request.digest and each.person_id in standing)
            for each in detail.verdicts
        ],
        may={
            "verdict": _may(actor, "giving a verdict", lambda: review.may_give_verdict(detail.facts, person)),
            "publish": _may(actor, "publishing", lambda: review.may_publish(detail.facts, person)),
        },
    )


def _may(actor: Actor, purpose: str, rule: Callable[[], None]) -> May:
    try:
        rule()
        people_access.require_scope(actor, Scope.DECIDE, purpose)
    except Refusal as refusal:
        return May(False, refusal.message)
    return May(True, None)


def _changes(item: ChangeItem) -> list[dict[str, Any]]:
    was = strict_json.read(item.base.body.encode()) if item.base else {}
    now = strict_json.read(item.revision.body.encode()) if item.revision else {}
    told: list[dict[str, Any]] = []
    for change in changes.between(was, now):
        sides = {"from": change.was, "to": change.now}
        told.append(
            {"path": change.path, **{side: value for side, value in sides.items() if value is not changes.MISSING}}
        )
    return told


class ChangeOut(serializers.Serializer[Any]):
    """One member that differs; a side is left out where the member does not stand."""

    path = Text()
    to = FreeJson(required=False, allow_null=False)

    def get_fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = super().get_fields()
        return {"path": fields["path"], "from": FreeJson(required=False, allow_null=False), "to": fields["to"]}


class ItemOut(serializers.Serializer[Any]):
    kind = Text(source="item.document.kind")
    key = Text(source="item.document.key")
    action = OneOf(choices=[action.value for action in review.Action], source="item.action")
    revision = Whole(source="item.revision.number", allow_null=True)
    revision_digest = Text(source="item.revision.digest", allow_null=True)
    base_revision = Whole(source="item.base.number", allow_null=True)
    changes = ChangeOut(many=True)


class FindingOut(serializers.Serializer[Any]):
    id = Id()
    kind = Text(source="revision.document.kind")
    key = Text(source="revision.document.key")
    code = Text()
    severity = OneOf(choices=[severity.value for severity in Severity])
    place = Text()
    reason = Text()
    remedy = Text()


class VerdictOut(serializers.Serializer[Any]):
    by = Text(source="verdict.person.username")
    verdict = OneOf(choices=[verdict.value for verdict in review.Verdict], source="verdict.verdict")
    digest = Text(source="verdict.digest")
    at = Instant(source="verdict.given_at")
    counts = serializers.BooleanField()


class MayOut(serializers.Serializer[Any]):
    allowed = serializers.BooleanField()
    why = Text(allow_null=True)


class MayBothOut(serializers.Serializer[Any]):
    verdict = MayOut()
    publish = MayOut()


class ChangeRequestRowOut(serializers.Serializer[Any]):
    """A change request in a list."""

    id = Id()
    number = Whole()
    state = OneOf(choices=STATES)
    reason = Text()
    digest = Text()
    submitted_by = Text(source="submitted_by.username", allow_null=True)
    submitted_at = Instant(allow_null=True)


class ChangeRequestOut(serializers.Serializer[Any]):
    id = Id(source="request.id")
    number = Whole(source="request.number")
    state = OneOf(choices=STATES, source="request.state")
    reason = Text(source="request.reason")
    digest = Text(source="request.digest")
    submitted_by = Text(source="request.submitted_by.username", allow_null=True)
    submitted_at = Instant(source="request.submitted_at", allow_null=True)
    items = ItemOut(many=True)
    findings = FindingOut(many=True)
    verdicts = VerdictOut(many=True)
    may = MayBothOut()


class ChangeRequestListOut(serializers.Serializer[Any]):
    results = ChangeRequestRowOut(many=True)
    next = Text(allow_null=True)


class PublicationOut(serializers.Serializer[Any]):
    publication = Whole()


# --- in --------------------------------------------------------------------------------------------------------------


class AcknowledgementIn(serializers.Serializer[Any]):
    """Why a blocking finding may stand."""

    finding = Id()
    reason = Text()


class VerdictIn(serializers.Serializer[Any]):
    verdict = OneOf(choices=[verdict.value for verdict in review.Verdict])
    digest = Text()
    reason = Text(default="")
    acknowledge = AcknowledgementIn(many=True, default=list)


class PublishIn(serializers.Serializer[Any]):
    digest = Text(required=False)


class WithdrawIn(serializers.Serializer[Any]):
    reason = Text()


class WantedItemIn(serializers.Serializer[Any]):
    document = Id()
    action = OneOf(choices=[action.value for action in review.Action])
    revision = Whole(required=False, min_value=1)


class ChangeRequestIn(serializers.Serializer[Any]):
    reason = Text()
    items = WantedItemIn(many=True, allow_empty=True)
