"""Change requests: read, decide, publish."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from salvor_admin.api import rendering
from salvor_admin.api.serializers import change_requests as shapes
from salvor_admin.api.views.api_view import PAGING, ApiView, members_of, page_of, person_of, query_of
from salvor_admin.domain import review
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Scope
from salvor_admin.people.access import Actor
from salvor_admin.reviews import access, publishing, selectors, services
from salvor_admin.reviews.services import WantedItem


def _read(actor: Actor, pk: UUID) -> dict[str, object]:
    detail = selectors.detail(access.change_request(actor, pk))
    return dict(shapes.ChangeRequestOut(shapes.read_request(detail, actor)).data)


class All(ApiView):
    """The workspace's change requests, newest first; and opening one."""

    people = {"GET": Scope.READ, "POST": Scope.DRAFT}
    purpose = "open or list change requests"

    @extend_schema(
        operation_id="change_requests_list",
        parameters=[
            OpenApiParameter("state", enum=shapes.STATES),
            OpenApiParameter("limit", int),
            OpenApiParameter("cursor", str),
        ],
        responses=shapes.ChangeRequestListOut,
    )
    def get(self, request: Request) -> HttpResponse:
        actor = person_of(request)
        query = query_of(request, ("state", *PAGING))
        state = query.get("state", "")
        if state and state not in shapes.STATES:
            raise Refusal(
                "bad_request", f"state is one of {', '.join(shapes.STATES)}; send one of them.", place="state"
            )
        rows = selectors.change_requests(actor.workspace_id, states=[state] if state else ())
        found, following = page_of(request, rows, ("-number", "id"), query)
        return rendering.answer(request, shapes.ChangeRequestListOut({"results": found, "next": following}).data)

    @extend_schema(request=shapes.ChangeRequestIn, responses={201: shapes.ChangeRequestOut})
    def post(self, request: Request) -> Response:
        actor = person_of(request)
        wanted = members_of(request, shapes.ChangeRequestIn)
        items = [WantedItem(item["document"], item["action"], item.get("revision")) for item in wanted["items"]]
        opened = services.open_change_request(actor=actor, items=items, reason=wanted["reason"], submit=True)
        return Response(_read(actor, opened.pk), status=201)


class One(ApiView):
    """One change request: what it changes, what was found and said, and what this token's person may do."""

    purpose = "read change requests"

    @extend_schema(responses=shapes.ChangeRequestOut)
    def get(self, request: Request, pk: UUID) -> HttpResponse:
        query_of(request, ())
        return rendering.answer(request, _read(person_of(request), pk))


class Verdicts(ApiView):
    """A verdict on exactly the digest that was shown."""

    people = {"POST": Scope.DECIDE}
    purpose = "give a verdict"

    @extend_schema(request=shapes.VerdictIn, responses=shapes.ChangeRequestOut)
    def post(self, request: Request, pk: UUID) -> Response:
        actor = person_of(request)
        given = members_of(request, shapes.VerdictIn)
        services.give_verdict(
            request_id=pk,
            actor=actor,
            verdict=review.Verdict(given["verdict"]),
            digest=given["digest"],
            reason=given["reason"],
            acknowledge={str(each["finding"]): each["reason"] for each in given["acknowledge"]},
        )
        return Response(_read(actor, pk))


class Publish(ApiView):
    """Makes an approved change request live."""

    people = {"POST": Scope.DECIDE}
    purpose = "publish"

    @extend_schema(request=shapes.PublishIn, responses=shapes.PublicationOut)
    def post(self, request: Request, pk: UUID) -> Response:
        wanted = members_of(request, shapes.PublishIn)
        publication = publishing.publish(request_id=pk, actor=person_of(request), digest=wanted.get("digest"))
        return Response({"publication": publication.number})


class Withdraw(ApiView):
    """Takes an open change request back, for good."""

    people = {"POST": Scope.DRAFT}
    purpose = "withdraw a change request"

    @extend_schema(request=shapes.WithdrawIn, responses=shapes.ChangeRequestOut)
    def post(self, request: Request, pk: UUID) -> Response:
        actor = person_of(request)
        wanted = members_of(request, shapes.WithdrawIn)
        services.withdraw(request_id=pk, actor=actor, reason=wanted["reason"])
        return Response(_read(actor, pk))
