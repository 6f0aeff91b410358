"""Calls that wait for a person: read, claim, answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from salvor_admin.api import rendering
from salvor_admin.api.authentication import PersonCaller
from salvor_admin.api.serializers import calls as shapes
from salvor_admin.api.views.api_view import PAGING, ApiView, caller_of, members_of, next_path, person_of, query_of
from salvor_admin.domain.ledger import Failure
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Scope
from salvor_admin.domain.settling import JudgeBy, Outcome
from salvor_admin.people.access import Actor
from salvor_admin.settlement import detail, runtime_calls, selectors, services
from salvor_admin.settlement.selectors import CallFilter
from salvor_admin.web.clock import database_now
from salvor_admin.web.pagination import read_limit

FILTERS: Final = ("state", "kind", "run", "tool", "runtime")
STATES: Final = ("waiting", "claimed", "decided", "all")


def _read(actor: Actor, pk: UUID) -> dict[str, Any]:
    return dict(shapes.CallOut(shapes.read_call(detail.call_detail(actor, pk, now=database_now()))).data)


def _run(text: str) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        raise Refusal("bad_request", f"{text[:60]!r} is no run id; give the whole UUID.", place="run") from None


class All(ApiView):
    """The calls that wait, claimed ones too; with `run` all of that run's, however young."""

    runtimes = frozenset({"GET"})
    purpose = "list calls"

    @extend_schema(
        operation_id="calls_list",
        parameters=[
            OpenApiParameter("state", enum=STATES, description="Waiting and claimed ones when it is left out."),
            OpenApiParameter("kind", enum=shapes.KINDS),
            OpenApiParameter("run", str),
            OpenApiParameter("tool", str),
            OpenApiParameter("runtime", str),
            OpenApiParameter("limit", int),
            OpenApiParameter("cursor", str),
        ],
        responses=PolymorphicProxySerializer(
            "CallList", [shapes.CallListOut, shapes.RuntimeCallListOut], resource_type_field_name=None
        ),
    )
    def get(self, request: Request) -> HttpResponse:
        caller = caller_of(request)
        query = query_of(request, (*FILTERS, *PAGING))
        for name, words in (("state", STATES), ("kind", shapes.KINDS)):
            if query.get(name, words[0]) not in words:
                raise Refusal("bad_request", f"{name} is one of {', '.join(words)}; send one of them.", place=name)
        run = _run(query.get("run", ""))
        state, limit, cursor = query.get("state", "open"), read_limit(query.get("limit")), query.get("cursor")
        tool, runtime = query.get("tool", ""), query.get("runtime", "")
        if query.get("kind") == "held":
            # A held call is a decision before the act, and none of the intents below.
            return rendering.answer(request, {"results": [], "next": None})
        now = database_now()
        if isinstance(caller, PersonCaller):
            wanted = CallFilter(state=state, tool=tool, runtime=runtime, run="" if run is None else str(run))
            page = selectors.calls(caller.actor, wanted, now=now, cursor=cursor, limit=limit)
            inputs = selectors.inputs_of([row.intent for row in page.rows])
            found = [shapes.ReadCall(row, inputs[row.intent.pk]) for row in page.rows]
            shown: Mapping[str, Any] = shapes.CallListOut(
                {"results": found, "next": next_path(request, page.next_cursor)}
            ).data
        else:
            rows, following = runtime_calls.calls(
                caller.workspace_id,
                state=state,
                run=run,
                tool=tool,
                runtime=runtime,
                now=now,
                cursor=cursor,
                limit=limit,
            )
            shown = shapes.RuntimeCallListOut({"results": rows, "next": next_path(request, following)}).data
        return rendering.answer(request, shown)


class One(ApiView):
    """One call: what was asked, what was reported, who holds it, what became of it."""

    runtimes = frozenset({"GET"})
    purpose = "read a call"

    @extend_schema(
        responses=PolymorphicProxySerializer(
            "Call", [shapes.CallOut, shapes.RuntimeCallOut], resource_type_field_name=None
        )
    )
    def get(self, request: Request, pk: UUID) -> HttpResponse:
        query_of(request, ())
        caller = caller_of(request)
        if isinstance(caller, PersonCaller):
            return rendering.answer(request, _read(caller.actor, pk))
        call = runtime_calls.call(caller.workspace_id, pk, now=database_now())
        return rendering.answer(request, shapes.RuntimeCallOut(call).data)


class Claim(ApiView):
    """Holds a call for this settler, or for longer when they hold it already."""

    people = {"POST": Scope.DECIDE}
    purpose = "claim a call"

    @extend_schema(request=shapes.NothingIn, responses=shapes.CallOut)
    def post(self, request: Request, pk: UUID) -> Response:
        actor = person_of(request)
        members_of(request, shapes.NothingIn)
        services.claim_case(intent_id=pk, actor=actor)
        return Response(_read(actor, pk))


class Release(ApiView):
    """Hands a call back to everybody."""

    people = {"POST": Scope.DECIDE}
    purpose = "release a call"

    @extend_schema(request=shapes.NothingIn, responses=shapes.CallOut)
    def post(self, request: Request, pk: UUID) -> Response:
        actor = person_of(request)
        members_of(request, shapes.NothingIn)
        services.release_case(intent_id=pk, actor=actor)
        return Response(_read(actor, pk))


class Settle(ApiView):
    """Records what became of a call, for good; claims it on the way when nobody holds it."""

    people = {"POST": Scope.DECIDE}
    purpose = "settle a call"

    @extend_schema(
        request=PolymorphicProxySerializer(
            "Settle", {"landed": shapes.LandedIn, "failed": shapes.FailedIn}, resource_type_field_name="outcome"
        ),
        responses=shapes.ReceiptOut,
    )
    def post(self, request: Request, pk: UUID) -> Response:
        actor = person_of(request)
        answer = _answer(request)
        with _rules_say_no():
            services.settle_call(intent_id=pk, actor=actor, **answer)
        return Response(shapes.ReceiptOut(detail.receipt(actor, pk)).data)


class Abandon(ApiView):
    """Says that it will not happen: retires the call's whole run, for good."""

    people = {"POST": Scope.DECIDE}
    purpose = "abandon a run"

    @extend_schema(request=shapes.AbandonIn, responses=shapes.ReceiptOut)
    def post(self, request: Request, pk: UUID) -> Response:
        actor = person_of(request)
        answer = members_of(request, shapes.AbandonIn)
        with _rules_say_no():
            services.abandon_call(intent_id=pk, actor=actor, reason=answer["reason"])
        return Response(shapes.ReceiptOut(detail.receipt(actor, pk)).data)


class Unknown(ApiView):
    """Says that nobody can tell yet: the call rests, and comes back at the time given."""

    people = {"POST": Scope.DECIDE}
    purpose = "leave a call unknown"

    @extend_schema(request=shapes.UnknownIn, responses=shapes.CallOut)
    def post(self, request: Request, pk: UUID) -> Response:
        actor = person_of(request)
        answer = members_of(request, shapes.UnknownIn)
        with _rules_say_no():
            services.leave_unknown(
                intent_id=pk, actor=actor, reason=answer["reason"], look_again_at=answer["look_again_at"]
            )
        return Response(_read(actor, pk))


def _answer(request: Request) -> dict[str, Any]:
    body = request.data
    outcome = body.get("outcome") if isinstance(body, Mapping) else None
    if outcome == Outcome.FAILED.value:
        failed = members_of(request, shapes.FailedIn)
        error = Failure(message=failed["error"]["message"], kind=failed["error"].get("kind"))
        return {
            "outcome": Outcome.FAILED,
            "error": error,
            "reason": failed["reason"],
            "reason_code": failed["reason_code"],
        }
    if isinstance(body, Mapping) and outcome != Outcome.LANDED.value:
        raise Refusal(
            "bad_request",
            "`outcome` is landed or failed; what will not happen is abandoned, what nobody knows left unknown.",
            place="/outcome",
        )
    landed = members_of(request, shapes.LandedIn)
    return {
        "outcome": Outcome.LANDED,
        "output": landed["output"],
        "reason": landed["reason"],
        "reason_code": landed["reason_code"],
        "judge_by": JudgeBy(landed["judge_by"]),
    }


@contextmanager
def _rules_say_no() -> Iterator[None]:
    """The body was read and has its form, so what a rule still refuses in it is 422; on the wire its contract says 400."""
    try:
        yield
    except Refusal as refusal:
        if refusal.code != "bad_request":
            raise
        raise Refusal("answer_unfit", refusal.message, place=refusal.place, details=refusal.details) from None
