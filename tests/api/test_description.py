"""The description of `/api`: complete, true to what is answered, and open to anybody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern

from salvor_admin.api import schema, urls
from salvor_admin.api.views.api_view import ApiView
from salvor_admin.people.access import Actor
from tests.api.callers import as_person, as_runtime
from tests.people.factories import Cast
from tests.reviews.factories import a_published_tool, a_submitted_change
from tests.runtimes.factories import a_runtime
from tests.settlement.factories import OUTPUT, a_tool, a_waiting_call

TEMPLATE = Path(__file__).parent.parent.parent / "templates" / "api" / "docs.html"


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in schema.document()["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def mapped() -> set[tuple[str, str]]:
    """Every address and method of the URL map, spelt as the description spells it."""
    found = set()
    for pattern in urls.urlpatterns:
        view = getattr(getattr(pattern, "callback", None), "view_class", None)
        if isinstance(pattern, URLPattern) and view is not None and issubclass(view, ApiView) and view.people:
            path = "/api/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(pattern.pattern)).replace("{pk}", "{id}")
            found |= {(path, method) for method in ("get", "post") if hasattr(view, method)}
    return found


def test_every_route_is_described_and_nothing_else_is() -> None:
    described = {(path, method) for path, method, _ in operations()}
    assert len(described) > 15
    assert described == mapped()


def test_each_operation_says_what_it_is_for_and_who_may() -> None:
    assert [
        path for path, _, operation in operations() if not re.search(r"\. Takes a .*token", operation["description"])
    ] == []


def test_a_read_may_be_unchanged_and_everything_may_be_refused() -> None:
    for path, method, operation in operations():
        assert ("304" in operation["responses"]) == (method == "get"), path
        assert operation["responses"]["4XX"]["content"]["application/json"]["schema"]["$ref"].endswith("/Error")


@pytest.mark.django_db
def test_the_description_is_served_to_anybody_and_unchanged_it_is_304() -> None:
    client = Client()
    response = client.get("/api/schema/")
    assert (response.status_code, response.json()["openapi"][:2]) == (200, "3.")
    assert client.get("/api/schema/", headers={"If-None-Match": response["ETag"]}).status_code == 304


@pytest.mark.django_db
def test_the_page_shows_every_address_without_script_or_inline_code() -> None:
    response = Client().get("/api/docs/")
    page = response.content.decode()
    assert response.status_code == 200
    for path, method, _ in operations():
        assert f"{method.upper()} {path}" in page
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.findall(r"\s(?:style|on\w+)=", page) == []
    assert len(response.content) < 100_000


def refuse_misfit(document: dict[str, Any], part: dict[str, Any], value: Any, place: str = "") -> None:
    """Raises where a value is not what its description says: its members exactly, their kinds, nothing besides."""
    if "$ref" in part:
        return refuse_misfit(document, document["components"]["schemas"][part["$ref"].rsplit("/", 1)[1]], value, place)
    for combined in ("oneOf", "allOf"):
        if combined in part:
            if value is None:
                assert part.get("nullable"), place
                return None
            misfits = []
            for each in part[combined]:
                try:
                    return refuse_misfit(document, each, value, place)
                except AssertionError as misfit:
                    misfits.append(misfit)
            raise AssertionError(misfits)
    if value is None:
        assert part.get("nullable") or "type" not in part, place
        return None
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
    if "type" in part:
        assert type(value) is kinds[part["type"]], (place, value)
    if "enum" in part:
        assert value in part["enum"], (place, value)
    if "properties" in part:
        assert set(part.get("required", ())) <= set(value) <= set(part["properties"]), (place, set(value))
        for name, inner in value.items():
            refuse_misfit(document, part["properties"][name], inner, f"{place}/{name}")
    if "items" in part:
        for index, inner in enumerate(value):
            refuse_misfit(document, part["items"], inner, f"{place}/{index}")
    return None


def answer_of(path: str, method: str = "get") -> dict[str, Any]:
    responses = schema.document()["paths"][path][method]["responses"]
    found = next(each for status, each in responses.items() if status.startswith("2"))
    part: dict[str, Any] = found["content"]["application/json"]["schema"]
    return part


@pytest.mark.django_db
def test_what_is_answered_is_what_is_described(cast: Cast, ada: Actor, grace: Actor, pat: Actor, noor: Actor) -> None:
    document = schema.document()
    a_published_tool(author=ada, reviewer=grace, publisher=pat, name="pay_out")
    a_tool(cast)
    request = a_submitted_change(author=ada, effect="read", trust_completion=False, require_equal=None)
    call, runtime = a_waiting_call(cast), as_runtime(a_runtime(admin=cast.workspace))
    readers = {"person": as_person(noor), "runtime": runtime}
    tool = request.items.get().document_id
    settle = {"outcome": "landed", "output": OUTPUT, "reason": "Seen at the provider."}
    tried = 0
    for round_number in range(2):
        for template, path in (
            ("/api/calls/", "/api/calls/?state=all"),
            ("/api/calls/{id}/", f"/api/calls/{call.pk}/"),
            ("/api/catalogue/", "/api/catalogue/"),
            ("/api/change-requests/", "/api/change-requests/"),
            ("/api/change-requests/{id}/", f"/api/change-requests/{request.pk}/"),
            ("/api/documents/", "/api/documents/"),
            ("/api/documents/{id}/", f"/api/documents/{tool}/"),
        ):
            for reader in readers.values():
                response = reader.get(path)
                if response.status_code == 200:
                    refuse_misfit(document, answer_of(template), response.json(), path)
                    tried += 1
        if round_number == 0:
            receipt = readers["person"].post(f"/api/calls/{call.pk}/settle/", settle).json()
            refuse_misfit(document, answer_of("/api/calls/{id}/settle/", "post"), receipt)
            as_person(grace).post(
                f"/api/change-requests/{request.pk}/verdicts/",
                {"verdict": "reject", "digest": request.digest, "reason": "No."},
            )
    assert tried == 2 * (7 + 3)
