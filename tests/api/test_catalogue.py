"""What runtimes load, and how the house knows that they did."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from salvor_admin.people.access import Actor
from salvor_admin.reviews import publishing
from salvor_admin.reviews.models import Document
from salvor_admin.runtimes.models import Runtime
from tests.api.callers import Caller, as_person, as_runtime, queries, told
from tests.races import THREADS, at_once
from tests.reviews.factories import a_published_tool, a_revision
from tests.runtimes.factories import a_runtime

pytestmark = pytest.mark.django_db

CATALOGUE = "/api/catalogue/"


@pytest.fixture
def runtime(root: Actor) -> Runtime:
    return a_runtime(admin=root)


@pytest.fixture
def caller(runtime: Runtime) -> Caller:
    return as_runtime(runtime)


def loaded(runtime: Runtime) -> int | None:
    return Runtime.objects.values_list("loaded_publication", flat=True).get(pk=runtime.pk)


def test_the_catalogue_reads_as_documented(caller: Caller, ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    a_revision(author=ada, require_equal=None)  # a draft: nobody is served it
    live = Document.objects.get().live_revision
    assert live is not None
    assert caller.get(CATALOGUE).json() == {
        "publication": 1,
        "client_tools": [
            {
                "name": "refund_card",
                "effect": "write",
                "trust_completion": True,
                "require_equal": ["amount_cents"],
                "idempotency_key": ["order_id"],
                "input_schema": {
                    "type": "object",
                    "required": ["order_id", "amount_cents"],
                    "properties": {"order_id": {"type": "string"}, "amount_cents": {"type": "integer", "minimum": 1}},
                },
                "output_schema": {
                    "type": "object",
                    "required": ["amount_cents", "provider_refund_id"],
                    "properties": {"amount_cents": {"type": "integer"}, "provider_refund_id": {"type": "string"}},
                },
                "revision": 1,
                "digest": live.digest,
            }
        ],
        "agents": [],
    }


def test_a_persons_read_token_reads_it_too(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    body = as_person(ada, "read").get(CATALOGUE).json()
    assert (body["publication"], [tool["name"] for tool in body["client_tools"]]) == (1, ["refund_card"])


def test_before_anything_is_live_it_is_empty_at_nought(caller: Caller) -> None:
    assert caller.get(CATALOGUE).json() == {"publication": 0, "client_tools": [], "agents": []}


def test_another_workspaces_tools_are_not_in_it(
    caller: Caller, ada: Actor, grace: Actor, pat: Actor, kim: Actor
) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    theirs = as_runtime(a_runtime(admin=kim)).get(CATALOGUE)
    assert theirs.json()["client_tools"] == []
    assert theirs["ETag"] != caller.get(CATALOGUE)["ETag"]


def test_an_unchanged_catalogue_is_304_for_one_statement(
    caller: Caller, runtime: Runtime, ada: Actor, grace: Actor, pat: Actor, django_assert_num_queries: Any
) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    tag = caller.get(CATALOGUE)["ETag"]
    with django_assert_num_queries(1):
        again = caller.get(CATALOGUE, If_None_Match=tag)
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag)


def test_every_publication_changes_the_tag_a_revoke_too(
    caller: Caller, ada: Actor, grace: Actor, pat: Actor, root: Actor
) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    tag = caller.get(CATALOGUE)["ETag"]
    publishing.revoke(document_id=Document.objects.get().pk, reason="It paid twice.", actor=root)
    after = caller.get(CATALOGUE, If_None_Match=tag)
    assert (after.status_code, after.json()["publication"], after.json()["client_tools"]) == (200, 2, [])


def test_what_a_runtime_loaded_is_noted_at_its_200_and_its_304_and_only_when_it_is_news(
    caller: Caller, runtime: Runtime, ada: Actor, grace: Actor, pat: Actor
) -> None:
    assert loaded(runtime) is None
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    tag = caller.get(CATALOGUE)["ETag"]
    assert loaded(runtime) == 1
    Runtime.objects.update(loaded_publication=None)
    with CaptureQueriesContext(connection) as news:
        caller.get(CATALOGUE, If_None_Match=tag)
    assert loaded(runtime) == 1
    with CaptureQueriesContext(connection) as none:
        caller.get(CATALOGUE, If_None_Match=tag)
    assert (len(none), any("loaded_publication" in query["sql"] for query in news)) == (1, True)


def test_a_person_who_reads_it_loads_it_into_no_runtime(runtime: Runtime, ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    as_person(ada, "read").get(CATALOGUE)
    assert loaded(runtime) is None


def test_reading_it_costs_the_same_for_one_tool_and_for_ten(
    caller: Caller, ada: Actor, grace: Actor, pat: Actor
) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    one = queries(caller, CATALOGUE)
    for number in range(9):
        a_published_tool(author=ada, reviewer=grace, publisher=pat, name=f"tool_{number}")
    assert (one, queries(caller, CATALOGUE)) == (2, 2)


def test_the_catalogue_takes_no_writing(caller: Caller) -> None:
    response = caller.post(CATALOGUE)
    assert told(response) == (405, "method_not_allowed")
    assert response["Allow"] == "GET, HEAD"


@pytest.mark.django_db(transaction=True)
def test_several_who_load_it_at_once_note_it_once(
    caller: Caller, runtime: Runtime, ada: Actor, grace: Actor, pat: Actor
) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    answers = at_once(*[lambda: caller.get(CATALOGUE)] * THREADS)
    assert {answer.status_code for answer in answers} == {200}  # type: ignore[union-attr]
    assert loaded(runtime) == 1
