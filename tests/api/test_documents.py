"""Documents, revisions and the drafting of change requests through `/api`."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from salvor_admin.audit.models import Entry
from salvor_admin.domain import client_tools
from salvor_admin.people.access import Actor
from salvor_admin.reviews.models import ChangeRequest, Document, Revision
from tests.api.callers import Caller, as_person, as_runtime, queries, told
from tests.races import ROUNDS, THREADS, at_once
from tests.reviews.factories import REFUND_CARD, a_published_tool, a_revision, a_submitted_change, refund_card
from tests.reviews.test_services import standing
from tests.runtimes.factories import a_runtime

pytestmark = pytest.mark.django_db

DOCUMENTS = "/api/documents/"
REVISIONS = "/api/documents/client_tool/revisions/"
REQUESTS = "/api/change-requests/"


# --- documents -------------------------------------------------------------------------------------------------------


def test_the_list_shows_each_document_with_what_is_live_of_it(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    draft = a_revision(author=ada, name="wire_payout").document
    live = Document.objects.get(key="refund_card")
    assert live.live_revision is not None
    body = as_person(ada, "read").get(DOCUMENTS).json()
    assert body == {
        "results": [
            {
                "id": str(live.pk),
                "kind": "client_tool",
                "key": "refund_card",
                "label": "refund_card",
                "live_revision": 1,
                "live_digest": live.live_revision.digest,
                "last_revision": 1,
            },
            {
                "id": str(draft.pk),
                "kind": "client_tool",
                "key": "wire_payout",
                "label": "wire_payout",
                "live_revision": None,
                "live_digest": None,
                "last_revision": 1,
            },
        ],
        "next": None,
    }


def labels(caller: Caller, query: str) -> list[str]:
    return [row["label"] for row in caller.get(DOCUMENTS + query).json()["results"]]


def test_the_list_is_narrowed_by_kind_and_by_part_of_the_label(ada: Actor) -> None:
    for name in ("Card_refund", "payout", "wire_REFUND"):
        a_revision(author=ada, name=name)
    caller = as_person(ada, "read")
    assert labels(caller, "?q=refund") == ["Card_refund", "wire_REFUND"]
    assert labels(caller, "?kind=client_tool&q=payout") == ["payout"]
    assert labels(caller, "?kind=grant") == []
    assert labels(caller, "?q=%25") == []


def test_pages_follow_each_other_without_a_gap(ada: Actor) -> None:
    names = [f"tool_{number:02d}" for number in range(5)]
    for name in names:
        a_revision(author=ada, name=name)
    caller, seen, at = as_person(ada, "read"), [], DOCUMENTS + "?limit=2&kind=client_tool"
    while at:
        page = caller.get(at).json()
        seen += [row["label"] for row in page["results"]]
        at = page["next"]
    assert seen == names


@pytest.mark.parametrize(
    ("query", "code", "place"),
    [
        ("?limit=0", "bad_request", "limit"),
        ("?limit=201", "bad_request", "limit"),
        ("?limit=ten", "bad_request", "limit"),
        ("?cursor=zzz", "bad_request", "cursor"),
        ("?kind=policy", "bad_request", "kind"),
        ("?q=%00", "bad_request", "q"),
        ("?kind=grant&kind=agent", "bad_request", "kind"),
        ("?kin=grant", "unknown_field", "kin"),
    ],
)
def test_a_query_that_cannot_be_meant_is_refused(ada: Actor, query: str, code: str, place: str) -> None:
    response = as_person(ada, "read").get(DOCUMENTS + query)
    assert told(response) == (400, code)
    assert response.json()["error"]["details"]["place"] == place


def test_a_document_reads_with_all_its_revisions(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    second = a_revision(author=ada, require_equal=None)
    first = Revision.objects.get(number=1)
    caller = as_person(grace, "read")
    response = caller.get(f"{DOCUMENTS}{second.document_id}/")
    body = response.json()
    saved = [row.pop("saved_at") for row in body["revisions"]]
    assert all(at.endswith("Z") for at in saved)
    assert body == {
        "id": str(second.document_id),
        "kind": "client_tool",
        "key": "refund_card",
        "label": "refund_card",
        "live": {"revision": 1, "digest": first.digest, "body": refund_card()},
        "revisions": [
            {"revision": 2, "digest": second.digest, "base_revision": 1, "author": "ada", "source": "form"},
            {"revision": 1, "digest": first.digest, "base_revision": None, "author": "ada", "source": "form"},
        ],
    }
    assert caller.get(f"{DOCUMENTS}{second.document_id}/", If_None_Match=response["ETag"]).status_code == 304


def test_reading_documents_costs_the_same_for_one_and_for_ten(ada: Actor) -> None:
    caller = as_person(ada, "read")
    document = a_revision(author=ada, name="tool").document_id
    one = (queries(caller, DOCUMENTS), queries(caller, f"{DOCUMENTS}{document}/"))
    for number in range(9):
        a_revision(author=ada, name=f"tool_{number}")
        a_revision(author=ada, name="tool", require_equal=["amount_cents"] if number % 2 else None)
    assert one == (2, 3)
    assert (queries(caller, DOCUMENTS), queries(caller, f"{DOCUMENTS}{document}/")) == one


def test_a_document_elsewhere_is_not_there(ada: Actor, kim: Actor) -> None:
    document = a_revision(author=ada).document_id
    caller = as_person(kim)
    assert told(caller.get(f"{DOCUMENTS}{document}/")) == (404, "not_found")
    assert caller.get(DOCUMENTS).json()["results"] == []


def test_a_runtime_reads_no_drafts(ada: Actor, root: Actor) -> None:
    document = a_revision(author=ada).document_id
    caller = as_runtime(a_runtime(admin=root))
    assert [told(caller.get(at)) for at in (DOCUMENTS, f"{DOCUMENTS}{document}/")] == [(403, "not_allowed")] * 2


# --- revisions -------------------------------------------------------------------------------------------------------


def test_a_revision_is_saved_and_told_with_what_was_found(ada: Actor) -> None:
    body = refund_card(effect="read", trust_completion=False, require_equal=None)
    response = as_person(ada, "draft").post(REVISIONS, {"body": body})
    revision = Revision.objects.get()
    assert response.status_code == 201
    told_back = response.json()
    codes = {found["code"] for found in told_back.pop("findings")}
    assert told_back == {"document": str(revision.document_id), "revision": 1, "digest": revision.digest}
    assert "never_completable" in codes
    entry = Entry.objects.order_by("-number")[0]
    assert (revision.source, entry.action, entry.via) == ("api", "revision.saved", "api")


@pytest.mark.parametrize(
    "text", [REFUND_CARD.decode(), client_tools.document_text(client_tools.from_toml(REFUND_CARD))]
)
def test_a_body_may_come_as_text_and_is_kept_as_it_came(ada: Actor, text: str) -> None:
    response = as_person(ada, "draft").post(REVISIONS, {"body_text": text})
    revision = Revision.objects.get()
    assert response.status_code == 201
    assert revision.body == client_tools.document_text(client_tools.from_toml(REFUND_CARD))
    assert bytes(revision.source_bytes or b"").decode() == text


def test_a_draft_over_what_is_no_longer_live_is_refused_with_what_is(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    before = standing()
    response = as_person(ada).post(REVISIONS, {"body": refund_card(require_equal=None), "base_revision": 0})
    assert told(response) == (409, "stale_base")
    assert response.json()["error"]["details"] == {"live_revision": 1, "place": "base_revision"}
    assert standing()[:6] == before[:6]
    again = as_person(ada).post(REVISIONS, {"body": refund_card(require_equal=None), "base_revision": 1})
    assert again.json()["revision"] == 2


BAD_REVISIONS: list[tuple[Any, tuple[int, str], str | None]] = [
    ({}, (400, "bad_request"), "/body"),
    ({"body": {}, "body_text": "{}"}, (400, "bad_request"), "/body"),
    ({"body_text": 5}, (400, "bad_request"), "/body_text"),
    ({"body": refund_card(), "base_revision": "1"}, (400, "bad_request"), "/base_revision"),
    ({"body": refund_card(), "base_revision": 1.0}, (400, "bad_request"), "/base_revision"),
    ({"body": refund_card(), "base_revision": -1}, (400, "bad_request"), "/base_revision"),
    ({"body": refund_card(), "submit": True}, (400, "unknown_field"), "/submit"),
    ({"body": None}, (422, "wrong_type"), ""),
    ({"body": []}, (422, "wrong_type"), ""),
    ({"body": {**refund_card(), "efect": "write"}}, (422, "unknown_key"), "/efect"),
    ({"body": refund_card(effect="pay")}, (422, "unknown_effect"), "/effect"),
    ({"body": refund_card(name="")}, (422, "bad_name"), "/name"),
    ({"body": refund_card(require_equal=["order_id"])}, (422, "pinned_field_not_required"), "/require_equal/0"),
    (
        {"body": refund_card(input_schema={"type": "thing"}, require_equal=None, idempotency_key=None)},
        (422, "not_a_schema"),
        "/input_schema/type",
    ),
    ({"body_text": "name = "}, (422, "not_toml"), None),
    ({"body_text": '{"name":"a","name":"b"}'}, (400, "bad_request"), "/name"),
]


@pytest.mark.parametrize(("body", "code", "place"), BAD_REVISIONS)
def test_a_revision_that_is_none_is_refused_at_its_place(
    ada: Actor, body: Any, code: tuple[int, str], place: str | None
) -> None:
    response = as_person(ada, "draft").post(REVISIONS, body)
    assert told(response) == code
    if place is not None:
        assert response.json()["error"]["details"]["place"] == place
    assert (Revision.objects.count(), Document.objects.count()) == (0, 0)


def test_a_kind_that_is_none_is_not_there(ada: Actor) -> None:
    assert told(as_person(ada).post("/api/documents/policy/revisions/", {"body": {}})) == (404, "unknown_kind")


def test_only_an_author_with_a_drafting_token_saves(ada: Actor, grace: Actor, root: Actor) -> None:
    runtime = as_runtime(a_runtime(admin=root))
    callers = {"reader": as_person(ada, "read"), "grace": as_person(grace), "root": as_person(root), "runtime": runtime}
    answers = {name: told(caller.post(REVISIONS, {"body": refund_card()})) for name, caller in callers.items()}
    assert answers == dict.fromkeys(callers, (403, "not_allowed"))
    assert Revision.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_several_revisions_at_once_are_numbered_one_after_the_other(ada: Actor) -> None:
    callers = [as_person(ada) for _ in range(THREADS)]
    for number in range(ROUNDS):
        body = {"body": refund_card(name=f"tool_{number}")}
        answers = at_once(*[partial(caller.post, REVISIONS, body) for caller in callers])
        assert sorted(answer.json()["revision"] for answer in answers) == list(range(1, THREADS + 1))  # type: ignore[union-attr]


# --- change requests -------------------------------------------------------------------------------------------------


def wanted(of: Revision, **members: Any) -> dict[str, Any]:
    return {"reason": "Refunds.", "items": [{"document": str(of.document_id), "action": "set", **members}]}


def test_opening_a_change_request_puts_it_before_the_reviewers(ada: Actor) -> None:
    revision = a_revision(author=ada)
    response = as_person(ada, "draft").post(REQUESTS, wanted(revision))
    request = ChangeRequest.objects.get()
    assert response.status_code == 201
    body = response.json()
    assert (body["id"], body["state"], body["reason"], body["submitted_by"]) == (
        str(request.pk),
        "in_review",
        "Refunds.",
        "ada",
    )
    assert [(item["action"], item["revision"]) for item in body["items"]] == [("set", 1)]


def test_an_old_revision_rolls_back_and_a_removal_removes(ada: Actor, grace: Actor, pat: Actor) -> None:
    for pins in (["amount_cents"], None):
        a_published_tool(author=ada, reviewer=grace, publisher=pat, require_equal=pins)
    document, first = Document.objects.get(), Revision.objects.get(number=1)
    caller = as_person(ada, "draft")
    back = caller.post(REQUESTS, wanted(first, revision=1)).json()
    assert (back["items"][0]["revision"], back["items"][0]["base_revision"]) == (1, 2)
    assert back["items"][0]["changes"] == [{"path": "/require_equal", "to": ["amount_cents"]}]
    caller.post(f"{REQUESTS}{back['id']}/withdraw/", {"reason": "Rather remove it."})
    items = [{"document": str(document.pk), "action": "remove"}]
    gone = caller.post(REQUESTS, {"reason": "Nobody uses it.", "items": items}).json()
    (item,) = gone["items"]
    assert (item["action"], item["revision"], item["revision_digest"]) == ("remove", None, None)
    assert all("to" not in change for change in item["changes"])


def test_a_document_changes_once_at_a_time(ada: Actor) -> None:
    request = a_submitted_change(author=ada)
    before = standing()
    response = as_person(ada).post(REQUESTS, wanted(Revision.objects.get()))
    assert told(response) == (409, "change_open")
    assert response.json()["error"]["details"]["change_request"] == str(request.pk)
    assert standing()[:6] == before[:6]


def bad_requests(document: str) -> list[tuple[Any, tuple[int, str], str]]:
    item = {"document": document, "action": "set"}
    return [
        ({"reason": "x"}, (400, "bad_request"), "/items"),
        ({"items": [item]}, (400, "bad_request"), "/reason"),
        ({"reason": "x", "items": []}, (422, "nothing_to_review"), "items"),
        ({"reason": " ", "items": [item]}, (422, "reason_missing"), "reason"),
        ({"reason": "x", "items": [item, item]}, (400, "bad_request"), "items"),
        ({"reason": "x", "items": [{**item, "action": "drop"}]}, (400, "bad_request"), "/items/0/action"),
        ({"reason": "x", "items": [{**item, "revision": 7}]}, (404, "not_found"), "items"),
        ({"reason": "x", "items": [{**item, "revision": True}]}, (400, "bad_request"), "/items/0/revision"),
        ({"reason": "x", "items": [{**item, "note": ""}]}, (400, "unknown_field"), "/items/0/note"),
        ({"reason": "x", "items": [{**item, "document": str(uuid4())}]}, (404, "not_found"), "items"),
        ({"reason": "x", "items": [{"document": document, "action": "remove"}]}, (422, "nothing_to_remove"), "items"),
        ({"reason": "x", "items": "all"}, (400, "bad_request"), "/items"),
    ]


@pytest.mark.parametrize("row", range(len(bad_requests(""))))
def test_a_change_request_that_is_none_is_refused_at_its_place(ada: Actor, row: int) -> None:
    revision = a_revision(author=ada)
    body, code, place = bad_requests(str(revision.document_id))[row]
    response = as_person(ada).post(REQUESTS, body)
    assert told(response) == code
    assert response.json()["error"]["details"]["place"] == place
    assert ChangeRequest.objects.count() == 0


def test_only_an_author_with_a_drafting_token_opens_one(ada: Actor, grace: Actor, kim: Actor) -> None:
    revision = a_revision(author=ada)
    answers = [
        told(caller.post(REQUESTS, wanted(revision)))
        for caller in (as_person(ada, "read"), as_person(grace), as_person(kim))
    ]
    assert answers == [(403, "not_allowed"), (403, "not_allowed"), (404, "not_found")]
    assert ChangeRequest.objects.count() == 0


def test_the_list_is_newest_first_narrowed_by_state_and_paged(ada: Actor) -> None:
    requests = [a_submitted_change(author=ada, name=f"tool_{number}") for number in range(3)]
    caller = as_person(ada)
    caller.post(f"{REQUESTS}{requests[0].pk}/withdraw/", {"reason": "Wrong."})
    everything = caller.get(REQUESTS)
    assert [row["number"] for row in everything.json()["results"]] == [3, 2, 1]
    assert set(everything.json()["results"][0]) == {
        "id",
        "number",
        "state",
        "reason",
        "digest",
        "submitted_by",
        "submitted_at",
    }
    assert [row["number"] for row in caller.get(REQUESTS + "?state=withdrawn").json()["results"]] == [1]
    first = caller.get(REQUESTS + "?state=in_review&limit=1").json()
    assert [row["number"] for row in caller.get(first["next"]).json()["results"]] == [2]
    assert caller.get(REQUESTS, If_None_Match=everything["ETag"]).status_code == 304
    assert told(caller.get(REQUESTS + "?state=done")) == (400, "bad_request")


def test_the_list_costs_the_same_for_one_and_for_ten_and_ends_at_the_wall(ada: Actor, kim: Actor) -> None:
    caller = as_person(ada, "read")
    a_submitted_change(author=ada, name="tool")
    one = queries(caller, REQUESTS)
    for number in range(9):
        a_submitted_change(author=ada, name=f"tool_{number}")
    assert (one, queries(caller, REQUESTS)) == (2, 2)
    assert as_person(kim).get(REQUESTS).json()["results"] == []


@pytest.mark.django_db(transaction=True)
def test_of_several_change_requests_for_one_document_one_is_opened(ada: Actor) -> None:
    callers = [as_person(ada) for _ in range(THREADS)]
    for number in range(ROUNDS):
        revision = a_revision(author=ada, name=f"tool_{number}")
        answers = at_once(*[partial(caller.post, REQUESTS, wanted(revision)) for caller in callers])
        assert sorted(answer.status_code for answer in answers) == [201] + [409] * (THREADS - 1)  # type: ignore[union-attr]
