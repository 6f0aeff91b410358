"""The change page and the list: what is shown, and what a refused verb leaves standing."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from salvor_admin.domain import review
from salvor_admin.people import services as people
from salvor_admin.people.access import Actor
from salvor_admin.reviews import publishing, services
from salvor_admin.reviews.models import ChangeRequest, Document, Finding
from salvor_admin.reviews.services import WantedItem
from tests.catalogue.pages import path, query_count, signed_in
from tests.reviews.factories import (
    a_published_tool,
    a_revision,
    a_submitted_change,
    an_approved_change,
)
from tests.reviews.test_services import standing

pytestmark = pytest.mark.django_db


def page(actor: Actor, request: ChangeRequest) -> Any:
    return signed_in(actor).get(path(actor, "reviews:change_request", request_id=request.pk))


def post(actor: Actor, request: ChangeRequest, verb: str, **fields: str) -> Any:
    return signed_in(actor).post(path(actor, f"reviews:{verb}", request_id=request.pk), fields)


def test_the_page_says_what_changes_in_words_then_by_field_then_raw(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat, trust_completion=False)
    request = a_submitted_change(author=ada, require_equal=None)
    html = page(grace, request).content.decode()
    words = html.index("The client&#x27;s own word now settles this call.")
    field = html.index("<code>/<wbr>trust_<wbr>completion</code>")
    raw = html.index("-  &quot;trust_completion&quot;: false")
    assert words < field < raw
    assert "A report may now differ from what was authorised in amount_cents." in html
    assert html.index("Loosening") < html.index("A call must carry") < html.index("A report must carry")


def test_the_digest_stands_by_the_button_and_in_the_receipt(ada: Actor, grace: Actor, pat: Actor) -> None:
    request = a_submitted_change(author=ada)
    short = f"{request.digest[7:11]} {request.digest[11:15]}"
    assert f"Approve {short}</button>" in page(grace, request).content.decode()
    answer = post(grace, request, "verdict", verdict="approve", digest=request.digest)
    assert short in str(signed_in(grace).get(answer["Location"]).content)
    assert f"Publish {short}</button>" in page(pat, request).content.decode()
    post(pat, request, "publish", digest=request.digest)
    assert request.digest in page(pat, request).content.decode()


def test_who_may_decide_is_told_and_why_others_may_not(ada: Actor, grace: Actor, pat: Actor, root: Actor) -> None:
    people.change_roles(person_id=ada.person_id, roles=["author", "reviewer"], actor=root)
    request = a_submitted_change(author=ada)
    told = {each.name: (each.may, each.why) for each in page(grace, request).context["deciders"]}
    assert told["Grace Okafor"] == (True, "")
    assert told["Ada Marsh"][0] is False and "wrote or edited refund_card" in told["Ada Marsh"][1]
    assert "Pat Lindqvist" not in told


def test_a_draft_tells_who_will_be_able_to_decide(ada: Actor, grace: Actor) -> None:
    revision = a_revision(author=ada)
    request = services.open_change_request(actor=ada, items=[WantedItem(revision.document_id)])
    assert [(each.name, each.may) for each in page(grace, request).context["deciders"]] == [
        ("Grace Okafor", True),
        ("Ada Marsh", False),
    ]


def test_a_voided_approval_is_never_shown_as_one(ada: Actor, grace: Actor) -> None:
    request = an_approved_change(author=ada, reviewer=grace)
    a_revision(author=ada, require_equal=None)
    shown = page(grace, request)
    (line,) = [line for line in shown.context["history"] if line.words == "approved"]
    assert (line.icon, line.tone, line.void) == ("hourglass", "quiet", "given for an earlier content; it changed since")
    (grace_told,) = [each for each in shown.context["deciders"] if each.name == "Grace Okafor"]
    assert "void" in grace_told.said
    assert "0 of 1 approval" not in shown.content.decode() or shown.context["approvals"] == 0


def test_an_approval_by_somebody_who_lost_the_role_is_void_on_the_page(ada: Actor, grace: Actor, root: Actor) -> None:
    request = an_approved_change(author=ada, reviewer=grace)
    people.change_roles(person_id=grace.person_id, roles=["viewer"], actor=root)
    shown = page(root, request)
    (line,) = [line for line in shown.context["history"] if line.words == "approved"]
    assert line.void == "Grace Okafor is no reviewer here any more"
    assert shown.context["approvals"] == 0


def test_the_history_tells_everything_in_its_order(ada: Actor, grace: Actor, pat: Actor) -> None:
    request = a_submitted_change(author=ada)
    services.comment(request_id=request.pk, actor=grace, text="Which currency?")
    services.give_verdict(
        request_id=request.pk,
        actor=grace,
        verdict=review.Verdict.REQUEST_CHANGES,
        digest=request.digest,
        reason="Pin the currency.",
    )
    a_revision(author=ada, idempotency_key=None)
    again = services.submit(request_id=request.pk, actor=ada, reason="By position now.")
    services.give_verdict(request_id=request.pk, actor=grace, verdict=review.Verdict.APPROVE, digest=again.digest)
    publishing.publish(request_id=request.pk, actor=pat)
    lines = [(line.name, line.words, line.text) for line in page(pat, request).context["history"]]
    assert lines == [
        ("Ada Marsh", "opened it", ""),
        ("Ada Marsh", "submitted it", "Refunds by agents."),
        ("Grace Okafor", "", "Which currency?"),
        ("Grace Okafor", "asked for changes", "Pin the currency."),
        ("Ada Marsh", "changed what it holds", ""),
        ("Ada Marsh", "submitted it", "By position now."),
        ("Grace Okafor", "approved", ""),
        ("Pat Lindqvist", "published it as publication 1", ""),
    ]


def test_a_verdict_on_what_was_shown_before_is_refused_with_what_changed_since(ada: Actor, grace: Actor) -> None:
    request = a_submitted_change(author=ada)
    seen = page(grace, request).context["seen"]
    a_revision(author=ada, trust_completion=False)
    services.submit(request_id=request.pk, actor=ada, reason="Again.")
    before = standing()
    answer = post(
        grace, request, "verdict", verdict="approve", digest=request.digest, seen=seen, reason="Looks right to me."
    )
    html = answer.content.decode()
    assert (answer.status_code, standing()) == (412, before)
    assert "Since you looked" in html and "A person settles each call" in html
    assert "Looks right to me." in html


@pytest.mark.parametrize("seen", ["", "x:1", "00000000-0000-0000-0000-000000000000:1", ":,::", "a" * 20_000])
def test_a_mark_that_is_none_of_ours_shows_nothing_and_breaks_nothing(seen: str, ada: Actor, grace: Actor) -> None:
    request = a_submitted_change(author=ada)
    answer = post(grace, request, "verdict", verdict="approve", digest="sha256:x", seen=seen)
    assert (answer.status_code, answer.context["since"]) == (412, [])


def test_a_stale_change_shows_what_moved_underneath(ada: Actor, grace: Actor, pat: Actor, root: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    request = a_submitted_change(author=ada, require_equal=None)
    publishing.revoke(document_id=Document.objects.get().pk, reason="Doubled refunds.", actor=root)
    shown = page(ada, request)
    html = shown.content.decode()
    assert "Something newer went live underneath" in html and "it was taken out of service" in html
    assert "taken out of service: no new call of it is recorded" in html
    assert "Edit refund_card" in html
    assert shown.context["history"][-1].words == "put something newer live underneath as publication 2"


def test_a_revision_brings_a_stale_change_back(ada: Actor, grace: Actor, pat: Actor, root: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    request = a_submitted_change(author=ada, require_equal=None)
    publishing.revoke(document_id=Document.objects.get().pk, reason="Doubled refunds.", actor=root)
    a_revision(author=ada, require_equal=None)
    request.refresh_from_db()
    assert request.state == "draft"
    assert page(ada, request).context["items"][0].moved is None


def test_an_unacknowledged_finding_is_named_and_what_was_typed_is_kept(ada: Actor, grace: Actor) -> None:
    request = a_submitted_change(
        author=ada, effect="read", trust_completion=False, require_equal=None, name="pay\u200bments"
    )
    first, second = Finding.objects.filter(severity="block").order_by("code")
    before = standing()
    answer = post(
        grace,
        request,
        "verdict",
        verdict="approve",
        digest=request.digest,
        **{f"acknowledge-{first.pk}": "It is a test name."},
    )
    html = answer.content.decode()
    assert (answer.status_code, standing()) == (422, before)
    assert f'href="#ack-{second.pk}"' in html and "It is a test name." in html


def test_an_acknowledgement_stays_readable_beside_its_finding(ada: Actor, grace: Actor) -> None:
    request = a_submitted_change(author=ada, effect="read", trust_completion=False, require_equal=None)
    (finding,) = Finding.objects.filter(severity="block")
    services.give_verdict(
        request_id=request.pk,
        actor=grace,
        verdict=review.Verdict.APPROVE,
        digest=request.digest,
        acknowledge={str(finding.pk): "People settle these on purpose."},
    )
    html = page(ada, request).content.decode()
    assert html.count("People settle these on purpose.") == 2


REFUSED_VERBS: dict[str, tuple[str, str, dict[str, str], int]] = {
    "the author's own verdict": ("ada", "verdict", {"verdict": "approve"}, 403),
    "no verdict": ("grace", "verdict", {"verdict": ""}, 400),
    "a rejection without a reason": ("grace", "verdict", {"verdict": "reject"}, 422),
    "publishing what is not approved": ("pat", "publish", {}, 409),
    "withdrawing without a reason": ("ada", "withdraw", {"reason": " "}, 422),
    "withdrawing another's": ("grace", "withdraw", {"reason": "Not now."}, 403),
    "submitting twice": ("ada", "submit", {"reason": "Again."}, 409),
    "an empty comment": ("grace", "comment", {"text": ""}, 422),
}


@pytest.mark.parametrize("case", REFUSED_VERBS, ids=str)
def test_a_refused_verb_shows_the_page_anew_and_moves_nothing(case: str, ada: Actor, grace: Actor, pat: Actor) -> None:
    who, verb, fields, status = REFUSED_VERBS[case]
    request = a_submitted_change(author=ada)
    before = standing()
    answer = post({"ada": ada, "grace": grace, "pat": pat}[who], request, verb, **{"digest": request.digest, **fields})
    assert (answer.status_code, standing()) == (status, before)
    assert "Nothing was recorded" in answer.content.decode()


def test_words_of_others_are_text_and_never_act(ada: Actor, grace: Actor) -> None:
    hostile = '<button hx-post="/approve" hx-trigger="load">x</button>\u202e'
    request = a_submitted_change(
        author=ada, input_schema={"required": ["order_id", "amount_cents"], "description": hostile}
    )
    services.comment(request_id=request.pk, actor=grace, text=hostile)
    html = page(grace, request).content.decode()
    assert "<button hx-post" not in html and "\u202e" not in html
    assert "U+202E" in html


def test_the_page_costs_the_same_for_one_document_and_for_ten(ada: Actor, grace: Actor) -> None:
    one = a_submitted_change(author=ada)
    items = [WantedItem(a_revision(author=ada, name=f"tool_{number}").document_id) for number in range(10)]
    ten = services.open_change_request(actor=ada, items=items, reason="Ten.", submit=True)
    for number in range(10):
        services.comment(request_id=ten.pk, actor=grace, text=f"Comment {number}.")
    where = [path(grace, "reviews:change_request", request_id=request.pk) for request in (one, ten)]
    assert [query_count(grace, each) for each in where] == [17, 17]


def test_the_list_costs_the_same_for_one_change_and_for_ten(ada: Actor, grace: Actor) -> None:
    where = path(grace, "reviews:list")
    a_submitted_change(author=ada)
    one = query_count(grace, where)
    for number in range(9):
        a_submitted_change(author=ada, name=f"tool_{number}")
    assert (one, query_count(grace, where)) == (9, 9)


def test_the_list_filters_by_the_address(ada: Actor, grace: Actor) -> None:
    a_submitted_change(author=ada)
    an_approved_change(author=ada, reviewer=grace, name="wire_payout")
    client = signed_in(grace)
    shown = {
        state: [row.number for row, _, _ in client.get(path(grace, "reviews:list"), {"state": state}).context["rows"]]
        for state in ("open", "in_review", "approved", "closed")
    }
    assert shown == {"open": [2, 1], "in_review": [1], "approved": [2], "closed": []}
    assert client.get(path(grace, "reviews:list"), {"state": "odd"}).status_code == 400


def test_the_exact_text_of_a_revision_is_taken_away(ada: Actor, grace: Actor, kim: Actor) -> None:
    revision = a_revision(author=ada)
    where = {"document_id": revision.document_id, "number": 1}
    answer = signed_in(grace).get(path(grace, "reviews:revision_text", **where))
    assert "sha256:" + hashlib.sha256(answer.content).hexdigest() == revision.digest
    assert answer["Content-Disposition"].startswith("attachment")
    for wrong in ({**where, "number": 2}, {**where, "number": 2**63}):
        assert signed_in(grace).get(path(grace, "reviews:revision_text", **wrong)).status_code == 404
    assert signed_in(kim).get(path(kim, "reviews:revision_text", **where)).status_code == 404


def test_a_schema_of_twenty_thousand_values_keeps_the_pages_small(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    values = [f"article-{number:06}" for number in range(20_000)]
    schema = {
        "type": "object",
        "required": ["order_id", "amount_cents"],
        "properties": {"order_id": {"enum": values}, "amount_cents": {"type": "integer"}},
    }
    request = a_submitted_change(author=ada, input_schema=schema)
    assert len(page(grace, request).content) < 100_000
    document = Document.objects.get()
    shown = signed_in(grace).get(path(grace, "catalogue:document", document_id=document.pk) + "?revision=2&against=1")
    assert len(shown.content) < 100_000
