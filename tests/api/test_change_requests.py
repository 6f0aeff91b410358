"""Reading, judging and publishing change requests through `/api`."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from salvor_admin.audit.models import Entry
from salvor_admin.people.access import Actor
from salvor_admin.reviews import publishing, services
from salvor_admin.reviews.models import Acknowledgement, Document, Finding, Verdict
from salvor_admin.reviews.services import WantedItem
from tests.api.callers import as_person, queries, told
from tests.races import ROUNDS, THREADS, at_once
from tests.reviews.factories import a_published_tool, a_revision, a_submitted_change, an_approved_change
from tests.reviews.test_services import standing

pytestmark = pytest.mark.django_db

HUMAN_ONLY = {"trust_completion": False, "effect": "read", "require_equal": None}


def path(request: Any, verb: str = "") -> str:
    return f"/api/change-requests/{request.pk}/{verb and verb + '/'}"


def approve(request: Any, **members: Any) -> dict[str, Any]:
    return {"verdict": "approve", "digest": request.digest, **members}


# --- reading ---------------------------------------------------------------------------------------------------------


def test_a_change_request_reads_as_documented(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat, trust_completion=False, require_equal=None)
    request = a_submitted_change(author=ada, trust_completion=True, require_equal=None)
    body = as_person(grace, "read").get(path(request)).json()
    old, new = Document.objects.get().revisions.order_by("number")
    submitted_at = body.pop("submitted_at")
    may = body.pop("may")
    assert body == {
        "id": str(request.pk),
        "number": 2,
        "state": "in_review",
        "reason": "Refunds by agents.",
        "digest": request.digest,
        "submitted_by": "ada",
        "items": [
            {
                "kind": "client_tool",
                "key": "refund_card",
                "action": "set",
                "revision": 2,
                "revision_digest": new.digest,
                "base_revision": 1,
                "changes": [{"path": "/trust_completion", "from": False, "to": True}],
            }
        ],
        "findings": [
            {
                "id": str(finding.pk),
                "kind": "client_tool",
                "key": "refund_card",
                "code": finding.code,
                "severity": finding.severity,
                "place": finding.place,
                "reason": finding.reason,
                "remedy": finding.remedy,
            }
            for finding in Finding.objects.filter(revision=new).order_by("code", "place")
        ],
        "verdicts": [],
    }
    assert submitted_at.endswith("Z") and old.digest != new.digest
    # Grace may judge, but the token she sent only reads.
    assert may["verdict"]["allowed"] is False and "read" in may["verdict"]["why"]
    assert may["publish"]["allowed"] is False and "publisher" in may["publish"]["why"]


def test_a_reviewer_is_told_that_they_may_and_the_author_why_not(ada: Actor, grace: Actor) -> None:
    request = a_submitted_change(author=ada)
    assert as_person(grace).get(path(request)).json()["may"]["verdict"] == {"allowed": True, "why": None}
    ada.workspace.memberships.filter(person=ada.person).update(roles=["author", "reviewer"])
    refused = as_person(ada).get(path(request)).json()["may"]["verdict"]
    assert refused["allowed"] is False and "wrote or edited refund_card" in refused["why"]


def test_a_new_document_changes_every_member_from_nothing(ada: Actor, grace: Actor) -> None:
    request = a_submitted_change(author=ada)
    (item,) = as_person(grace).get(path(request)).json()["items"]
    assert item["base_revision"] is None
    assert {"path": "/effect", "to": "write"} in item["changes"]
    assert all("from" not in change for change in item["changes"])


def test_a_verdict_given_on_another_digest_or_by_somebody_who_lost_the_role_does_not_count(
    ada: Actor, grace: Actor
) -> None:
    request = an_approved_change(author=ada, reviewer=grace)
    reader = as_person(ada)
    (verdict,) = reader.get(path(request)).json()["verdicts"]
    assert (verdict["by"], verdict["verdict"], verdict["digest"], verdict["counts"]) == (
        "grace",
        "approve",
        request.digest,
        True,
    )
    grace.workspace.memberships.filter(person=grace.person).update(roles=["viewer"])
    assert reader.get(path(request)).json()["verdicts"][0]["counts"] is False
    grace.workspace.memberships.filter(person=grace.person).update(roles=["reviewer"])
    a_submitted_change(author=ada, require_equal=None)
    assert reader.get(path(request)).json()["verdicts"][0]["counts"] is False


def test_numbers_keep_their_spelling(ada: Actor, grace: Actor) -> None:
    schema = {"type": "object", "properties": {"rate": {"enum": [1.0, 1, 1e-7, 18446744073709551615]}}}
    request = a_submitted_change(author=ada, input_schema=schema, require_equal=None, idempotency_key=None)
    assert b'"enum":[1.0,1,1e-7,18446744073709551615]' in as_person(grace).get(path(request)).content


def test_the_same_answer_is_not_sent_twice(ada: Actor, grace: Actor) -> None:
    request = a_submitted_change(author=ada)
    caller = as_person(grace)
    first = caller.get(path(request))
    assert first["ETag"].startswith('"') and "Authorization" in first["Vary"]
    again = caller.get(path(request), If_None_Match=first["ETag"])
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    caller.post(path(request, "verdicts"), approve(request))
    assert caller.get(path(request), If_None_Match=first["ETag"]).status_code == 200


def test_another_workspaces_change_request_is_not_there(ada: Actor, kim: Actor) -> None:
    request = a_submitted_change(author=ada)
    stranger = as_person(kim)
    before = standing()
    answers = [
        stranger.get(path(request)),
        stranger.post(path(request, "verdicts"), approve(request)),
        stranger.post(path(request, "publish"), {}),
        stranger.post(path(request, "withdraw"), {"reason": "Not ours."}),
        stranger.get(f"/api/change-requests/{uuid4()}/"),
    ]
    assert [told(answer) for answer in answers] == [(404, "not_found")] * 5
    assert standing() == before


def test_reading_costs_the_same_for_one_item_and_for_ten(ada: Actor, grace: Actor) -> None:
    one = a_submitted_change(author=ada)
    items = [WantedItem(a_revision(author=ada, name=f"tool_{n}").document_id) for n in range(10)]
    ten = services.open_change_request(actor=ada, items=items, reason="Ten.", submit=True)
    caller = as_person(grace)
    for request in (one, ten):
        assert caller.post(path(request, "verdicts"), approve(request)).status_code == 200
    assert (queries(caller, path(one)), queries(caller, path(ten))) == (8, 8)


# --- verdicts --------------------------------------------------------------------------------------------------------


def test_an_approval_through_a_token_is_recorded_as_such(ada: Actor, grace: Actor) -> None:
    request = a_submitted_change(author=ada)
    response = as_person(grace).post(path(request, "verdicts"), approve(request, reason="Pins the amount."))
    assert response.status_code == 200
    assert (response.json()["state"], response.json()["verdicts"][0]["by"]) == ("approved", "grace")
    verdict = Verdict.objects.get()
    entry = Entry.objects.order_by("-number")[0]
    assert (verdict.via, verdict.reason, entry.action, entry.via) == (
        "api",
        "Pins the amount.",
        "change_request.verdict_given",
        "api",
    )


@pytest.mark.parametrize(("verdict", "state"), [("request_changes", "changes_requested"), ("reject", "rejected")])
def test_the_other_verdicts_say_why(ada: Actor, grace: Actor, verdict: str, state: str) -> None:
    request = a_submitted_change(author=ada)
    caller = as_person(grace)
    without = caller.post(path(request, "verdicts"), {"verdict": verdict, "digest": request.digest})
    assert told(without) == (422, "reason_missing")
    assert without.json()["error"]["details"]["place"] == "reason"
    given = caller.post(
        path(request, "verdicts"), {"verdict": verdict, "digest": request.digest, "reason": "Too wide."}
    )
    assert given.json()["state"] == state


def refusals(request: Any, actors: dict[str, Actor]) -> dict[str, tuple[int, str]]:
    return {
        name: told(as_person(actor).post(path(request, "verdicts"), approve(request))) for name, actor in actors.items()
    }


def test_only_a_reviewer_who_did_not_write_it_gives_a_verdict(
    ada: Actor, pat: Actor, noor: Actor, root: Actor, kim: Actor
) -> None:
    request = a_submitted_change(author=ada)
    before = standing()
    assert refusals(request, {"ada": ada, "pat": pat, "noor": noor, "root": root, "kim": kim}) == {
        "ada": (403, "not_allowed"),
        "pat": (403, "not_allowed"),
        "noor": (403, "not_allowed"),
        "root": (403, "not_allowed"),
        "kim": (404, "not_found"),
    }
    assert Verdict.objects.count() == 0 and standing()[:6] == before[:6]


def test_whoever_wrote_it_is_refused_as_its_author_even_as_a_superuser(ada: Actor) -> None:
    request = a_submitted_change(author=ada)
    ada.workspace.memberships.filter(person=ada.person).update(roles=["author", "reviewer", "publisher", "admin"])
    type(ada.person).objects.update(is_superuser=True)
    assert told(as_person(ada).post(path(request, "verdicts"), approve(request))) == (403, "own_revision")
    assert Verdict.objects.count() == 0


def test_a_refusal_of_a_person_names_who_could_instead(ada: Actor, grace: Actor, pat: Actor, cast: Any) -> None:
    cast.roles = {**cast.roles, "bo": ["author", "reviewer", "publisher"]}
    request = a_submitted_change(author=ada)
    a_revision(author=cast.actor("bo"))
    as_person(ada).post("/api/change-requests/", {"reason": "Again.", "items": _items(request)})
    request.refresh_from_db()
    told_of = [
        as_person(actor).post(path(request, verb), body).json()["error"]["message"]
        for actor, verb, body in (
            (pat, "verdicts", approve(request)),
            (cast.actor("bo"), "verdicts", approve(request)),
            (grace, "publish", {}),
            (grace, "withdraw", {"reason": "No."}),
        )
    ]
    assert [message.rsplit(". ", 1)[1] for message in told_of] == [
        "Here grace could.",
        "Here grace could.",
        "Here pat could.",
        "Here ada, bo could.",
    ]


def _items(request: Any) -> list[dict[str, str]]:
    return [{"document": str(request.items.get().document_id), "action": "set"}]


@pytest.mark.parametrize("scope", ["read", "draft"])
def test_a_token_that_does_not_decide_is_refused_before_its_body_is_read(ada: Actor, grace: Actor, scope: str) -> None:
    request = a_submitted_change(author=ada)
    caller = as_person(grace, scope)
    for verb in ("verdicts", "publish"):
        response = caller.post(path(request, verb), raw=b"{")
        assert told(response) == (403, "not_allowed")
        assert "decide" in response.json()["error"]["message"]
    assert Verdict.objects.count() == 0


def test_a_verdict_on_an_older_digest_is_refused_with_the_one_that_stands(ada: Actor, grace: Actor) -> None:
    shown = a_submitted_change(author=ada)
    request = a_submitted_change(author=ada, require_equal=None)
    before = standing()
    response = as_person(grace).post(path(request, "verdicts"), approve(shown))
    assert told(response) == (412, "stale_digest")
    assert response.json()["error"]["details"] == {"digest": request.digest}
    assert standing()[:6] == before[:6]


def test_a_second_verdict_is_refused(ada: Actor, grace: Actor) -> None:
    request = an_approved_change(author=ada, reviewer=grace)
    response = as_person(grace).post(path(request, "verdicts"), approve(request))
    assert told(response) == (409, "wrong_state")
    details = response.json()["error"]["details"]
    assert (details["state"], details["by"]) == ("approved", "Grace Okafor")
    assert Verdict.objects.count() == 1


def test_a_blocking_finding_needs_a_reason_before_approval(ada: Actor, grace: Actor) -> None:
    request = a_submitted_change(author=ada, **HUMAN_ONLY)
    caller = as_person(grace)
    bare = caller.post(path(request, "verdicts"), approve(request))
    assert told(bare) == (422, "finding_unacknowledged")
    blocking = [found["id"] for found in caller.get(path(request)).json()["findings"] if found["severity"] == "block"]
    assert bare.json()["error"]["details"]["place"] in blocking
    stranger = approve(request, acknowledge=[{"finding": str(uuid4()), "reason": "Known."}])
    assert told(caller.post(path(request, "verdicts"), stranger)) == (404, "not_found")
    assert Verdict.objects.count() == 0
    said = [{"finding": finding, "reason": "People settle these."} for finding in blocking]
    assert caller.post(path(request, "verdicts"), approve(request, acknowledge=said)).json()["state"] == "approved"
    assert Acknowledgement.objects.count() == len(blocking)


BAD_VERDICTS: list[tuple[Any, tuple[int, str], str]] = [
    ({}, (400, "bad_request"), "/verdict"),
    ({"verdict": "approve"}, (400, "bad_request"), "/digest"),
    ({"verdict": "approved", "digest": "d"}, (400, "bad_request"), "/verdict"),
    ({"verdict": ["approve"], "digest": "d"}, (400, "bad_request"), "/verdict"),
    ({"verdict": "approve", "digest": 5}, (400, "bad_request"), "/digest"),
    ({"verdict": "approve", "digest": None}, (400, "bad_request"), "/digest"),
    ({"verdict": "approve", "digest": "d", "reason": 1}, (400, "bad_request"), "/reason"),
    ({"verdict": "approve", "digest": "d", "force": True}, (400, "unknown_field"), "/force"),
    ({"verdict": "approve", "digest": "d", "acknowledge": {}}, (400, "bad_request"), "/acknowledge"),
    ({"verdict": "approve", "digest": "d", "acknowledge": [5]}, (400, "bad_request"), "/acknowledge/0"),
    (
        {"verdict": "approve", "digest": "d", "acknowledge": [{"finding": "7", "reason": "x"}]},
        (400, "bad_request"),
        "/acknowledge/0/finding",
    ),
    (
        {"verdict": "approve", "digest": "d", "acknowledge": [{"finding": str(uuid4()), "reason": "x", "by": "me"}]},
        (400, "unknown_field"),
        "/acknowledge/0/by",
    ),
    ([], (400, "bad_request"), ""),
    ("approve", (400, "bad_request"), ""),
]


@pytest.mark.parametrize(("body", "code", "place"), BAD_VERDICTS)
def test_a_body_that_does_not_fit_is_refused_at_its_place(
    ada: Actor, grace: Actor, body: Any, code: tuple[int, str], place: str
) -> None:
    request = a_submitted_change(author=ada)
    before = standing()
    response = as_person(grace).post(path(request, "verdicts"), body)
    assert told(response) == code
    assert response.json()["error"]["details"]["place"] == place
    assert Verdict.objects.count() == 0 and standing()[:6] == before[:6]


# --- publishing and withdrawing --------------------------------------------------------------------------------------


def test_a_publisher_makes_it_live_and_is_told_the_number(ada: Actor, grace: Actor, pat: Actor) -> None:
    request = an_approved_change(author=ada, reviewer=grace)
    response = as_person(pat).post(path(request, "publish"), {"digest": request.digest})
    assert (response.status_code, response.json()) == (200, {"publication": 1})
    live = Document.objects.get().live_revision
    assert live is not None and live.number == 1
    assert Entry.objects.order_by("-number")[0].via == "api"


def test_a_publisher_need_not_repeat_the_digest(ada: Actor, grace: Actor, pat: Actor) -> None:
    request = an_approved_change(author=ada, reviewer=grace)
    assert as_person(pat).post(path(request, "publish")).json() == {"publication": 1}


def test_publishing_is_refused_to_everybody_else_and_moves_nothing(
    ada: Actor, grace: Actor, noor: Actor, root: Actor, kim: Actor
) -> None:
    request = an_approved_change(author=ada, reviewer=grace)
    answers = {
        actor.person_name: told(as_person(actor).post(path(request, "publish")))
        for actor in (ada, grace, noor, root, kim)
    }
    assert answers == {
        "ada": (403, "not_allowed"),
        "grace": (403, "not_allowed"),
        "noor": (403, "not_allowed"),
        "root": (403, "not_allowed"),
        "kim": (404, "not_found"),
    }
    assert Document.objects.get().live_revision is None


def test_an_author_who_is_a_publisher_too_does_not_publish(ada: Actor, grace: Actor) -> None:
    request = an_approved_change(author=ada, reviewer=grace)
    ada.workspace.memberships.filter(person=ada.person).update(roles=["author", "publisher"])
    assert told(as_person(ada).post(path(request, "publish"))) == (403, "own_revision")
    assert Document.objects.get().live_revision is None


def test_publishing_what_changed_since_or_is_not_approved_or_is_live_is_refused(
    ada: Actor, grace: Actor, pat: Actor
) -> None:
    request = a_submitted_change(author=ada)
    caller = as_person(pat)
    assert told(caller.post(path(request, "publish"))) == (409, "wrong_state")
    as_person(grace).post(path(request, "verdicts"), approve(request))
    assert told(caller.post(path(request, "publish"), {"digest": "sha256:00"})) == (412, "stale_digest")
    assert caller.post(path(request, "publish")).status_code == 200
    again = caller.post(path(request, "publish"))
    assert told(again) == (409, "wrong_state")
    assert again.json()["error"]["details"]["state"] == "published"


def test_an_approval_by_somebody_who_lost_the_role_publishes_nothing(ada: Actor, grace: Actor, pat: Actor) -> None:
    request = an_approved_change(author=ada, reviewer=grace)
    grace.workspace.memberships.filter(person=grace.person).update(roles=["viewer"])
    assert told(as_person(pat).post(path(request, "publish"))) == (409, "quorum_missing")
    assert Document.objects.get().live_revision is None


def test_an_author_withdraws_with_a_reason_and_for_good(ada: Actor, grace: Actor) -> None:
    request = a_submitted_change(author=ada)
    caller = as_person(ada, "draft")
    assert told(caller.post(path(request, "withdraw"), {})) == (400, "bad_request")
    assert told(caller.post(path(request, "withdraw"), {"reason": " "})) == (422, "reason_missing")
    assert told(as_person(grace).post(path(request, "withdraw"), {"reason": "No."})) == (403, "not_allowed")
    assert caller.post(path(request, "withdraw"), {"reason": "A typo."}).json()["state"] == "withdrawn"
    assert told(caller.post(path(request, "withdraw"), {"reason": "Again."})) == (409, "wrong_state")


def test_an_emergency_revokes_review_is_closed_here_too(ada: Actor, grace: Actor, pat: Actor, root: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    request = publishing.revoke(document_id=Document.objects.get().pk, reason="It paid twice.", actor=root).request
    assert request is not None
    assert as_person(grace).post(path(request, "verdicts"), approve(request)).json()["state"] == "published"


# --- several at once -------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_of_an_approval_and_a_rejection_at_once_one_wins(ada: Actor, cast: Any) -> None:
    cast.roles = {**cast.roles, **{f"reviewer{n}": ["reviewer"] for n in range(THREADS)}}
    callers = [as_person(cast.actor(f"reviewer{n}")) for n in range(THREADS)]
    for round_number in range(ROUNDS):
        request = a_submitted_change(author=ada, name=f"tool_{round_number}")
        bodies = [
            {"verdict": ("approve", "reject")[n % 2], "digest": request.digest, "reason": "Looked at it."}
            for n in range(THREADS)
        ]
        acts = [
            partial(caller.post, path(request, "verdicts"), body) for caller, body in zip(callers, bodies, strict=True)
        ]
        answers = at_once(*acts)
        statuses = sorted(answer.status_code for answer in answers)  # type: ignore[union-attr]
        assert statuses == [200] + [409] * (THREADS - 1)
        assert Verdict.objects.filter(request=request).count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_double_click_on_publish_publishes_once(ada: Actor, grace: Actor, pat: Actor) -> None:
    callers = [as_person(pat) for _ in range(THREADS)]
    for round_number in range(ROUNDS):
        request = an_approved_change(author=ada, reviewer=grace, name=f"tool_{round_number}")
        answers = at_once(*[partial(caller.post, path(request, "publish")) for caller in callers])
        statuses = sorted(answer.status_code for answer in answers)  # type: ignore[union-attr]
        assert statuses == [200] + [409] * (THREADS - 1)
