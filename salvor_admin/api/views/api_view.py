"""What every view of `/api` shares: policy as class attributes, strict bodies and queries, typed callers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from salvor_admin.api.authentication import Caller, PersonCaller, RuntimeCaller
from salvor_admin.api.negotiation import OnlyJson
from salvor_admin.api.permissions import FitsPolicy, HasToken
from salvor_admin.api.schema import PolicyInWords
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Scope
from salvor_admin.domain.strict_json import Json, pointer
from salvor_admin.people.access import Actor
from salvor_admin.web import pagination


class ApiView(APIView):
    """A plain view. `people` and `runtimes` say who may use which method, `purpose` what for."""

    people: ClassVar[Mapping[str, Scope]] = {"GET": Scope.READ}
    runtimes: ClassVar[frozenset[str]] = frozenset()
    purpose: ClassVar[str] = "read this"
    permission_classes = [HasToken, FitsPolicy]
    http_method_names = ["get", "head", "post"]
    content_negotiation_class = OnlyJson
    schema = PolicyInWords()


def caller_of(request: Request) -> Caller:
    """Who asks; the permissions made sure that it is somebody."""
    caller = request.auth
    if not isinstance(caller, RuntimeCaller | PersonCaller):
        raise TypeError("a view without HasToken asks who calls")
    return caller


def person_of(request: Request) -> Actor:
    """The person whose token asks."""
    caller = caller_of(request)
    if not isinstance(caller, PersonCaller):
        raise TypeError("a view that takes runtimes asks for a person")
    return caller.actor


def members_of(request: Request, shape: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """The body as this serializer reads it; unknown members are refused by name, then the first that does not fit."""
    body = request.data
    if not isinstance(body, Mapping):
        raise Refusal("bad_request", "The body is not a JSON object; send one with the documented members.", place="")
    serializer = shape(data=body)
    _refuse_unknown(serializer, body, "")
    if not serializer.is_valid():
        place, why = _first(serializer.errors, "")
        raise Refusal("bad_request", f"The member at {place or 'the top'} {why}.", place=place)
    return dict(serializer.validated_data)


def _refuse_unknown(field: Any, value: Json, place: str) -> None:
    if isinstance(field, serializers.ListSerializer) and isinstance(value, Sequence) and not isinstance(value, str):
        for index, item in enumerate(value):
            _refuse_unknown(field.child, item, pointer(place, index))
    elif isinstance(field, serializers.Serializer) and isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in field.fields:
                at = pointer(place, name)
                raise Refusal(
                    "unknown_field",
                    f"`{at}` is no member of this request; the members are {', '.join(field.fields)}.",
                    place=at,
                )
            _refuse_unknown(field.fields[name], inner, pointer(place, name))


def _first(errors: Any, place: str) -> tuple[str, str]:
    """The place and the words of the first thing that does not fit."""
    if isinstance(errors, Mapping):
        name, inner = next((name, inner) for name, inner in errors.items() if inner)
        return _first(inner, place if name == "non_field_errors" else pointer(place, name))
    index, inner = next((index, inner) for index, inner in enumerate(errors) if inner)
    if isinstance(inner, str):
        return place, _words(inner)
    return _first(inner, pointer(place, index))


def _words(problem: str) -> str:
    code = getattr(problem, "code", "")
    told = {
        "required": "is missing; send it",
        "null": "is null; send a value, or leave it out",
        "not_a_list": "is no list; send one",
        "empty": "is an empty list; name at least one",
        "does_not_exist": "is not there",
    }.get(code)
    if told:
        return told
    text = str(problem).rstrip(".")
    return text if text.startswith(("is ", "has ")) else f"does not fit: {text[:1].lower()}{text[1:]}"


def query_of(request: Request, known: Sequence[str]) -> dict[str, str]:
    """The query's members by name; one that is unknown or stands twice is refused, so that no filter is lost unseen."""
    found: dict[str, str] = {}
    for name, values in request.query_params.lists():
        if name not in known:
            raise Refusal(
                "unknown_field",
                f"`{name}` is nothing that can be asked for here; {', '.join(known) or 'nothing'} can.",
                place=name,
            )
        if len(values) > 1:
            raise Refusal("bad_request", f"`{name}` stands twice in the address; send it once.", place=name)
        if "\0" in values[0]:
            raise Refusal("bad_request", f"`{name}` holds the NUL character; leave it out.", place=name)
        found[name] = values[0]
    return found


PAGING = ("cursor", "limit")


def page_of(
    request: Request, rows: QuerySet[Any], order: Sequence[str], query: Mapping[str, str]
) -> tuple[list[Any], str | None]:
    """One keyset page of rows, and the path of the next one."""
    page = pagination.keyset_page(
        rows, order, cursor=query.get("cursor"), limit=pagination.read_limit(query.get("limit"))
    )
    return page.rows, next_path(request, page.next_cursor)


def next_path(request: Request, cursor: str | None) -> str | None:
    """This address with the cursor of the next page; None on the last."""
    if cursor is None:
        return None
    params = request.query_params.copy()
    params["cursor"] = cursor
    return f"{request.path}?{params.urlencode()}"
