"""Who hears of what, and in which words the subject says so."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from salvor_admin.delivery import queueing, recipients
from salvor_admin.delivery.models import Delivery
from salvor_admin.domain import review
from salvor_admin.domain.settling import Outcome
from salvor_admin.ledger.models import Intent
from salvor_admin.outbox.models import Message
from salvor_admin.people import services as people
from salvor_admin.people.access import Actor
from salvor_admin.reviews import publishing
from salvor_admin.reviews import services as reviews
from salvor_admin.reviews.models import Document
from salvor_admin.settlement import services as settlement
from salvor_admin.web.clock import database_now
from tests.delivery.factories import a_colleague, delivered, subjects, with_addresses
from tests.people.factories import Cast
from tests.reviews.factories import a_published_tool, a_revision, a_submitted_change, an_approved_change
from tests.settlement.factories import OUTPUT, a_tool, a_waiting_call

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reachable")]

HOUSE = Path(__file__).resolve().parent.parent.parent / "salvor_admin"


def settle(call: Intent, actor: Actor) -> None:
    settlement.settle_call(
        intent_id=call.pk, actor=actor, outcome=Outcome.LANDED, output=OUTPUT, reason="Seen at the provider."
    )


def test_reviewers_who_wrote_none_of_it_are_asked_to_review(ada: Actor, root: Actor) -> None:
    a_colleague(root, "rita", "author", "reviewer")
    a_submitted_change(author=ada)
    asked = "Asked to review: refund_card, submitted under 1 min ago (payments-eu)"
    assert subjects() == {"grace": [asked], "rita": [asked]}


def test_a_reviewer_who_wrote_a_part_is_not_asked(ada: Actor, grace: Actor, root: Actor) -> None:
    rita = a_colleague(root, "rita", "author", "reviewer")
    a_revision(author=rita)
    a_submitted_change(author=ada, trust_completion=False)
    assert set(delivered()) == {"grace"}


def test_nobody_is_asked_to_review_what_was_decided_before_the_mail_went(ada: Actor, grace: Actor, pat: Actor) -> None:
    an_approved_change(author=ada, reviewer=grace)
    assert set(subjects()) == {"ada", "pat"}


def test_an_approval_is_told_to_the_author_and_asks_publishers(ada: Actor, grace: Actor, pat: Actor) -> None:
    request = a_submitted_change(author=ada)
    delivered()
    reviews.give_verdict(request_id=request.pk, actor=grace, verdict=review.Verdict.APPROVE, digest=request.digest)
    assert subjects() == {
        "ada": ["Approved: refund_card, under 1 min ago (payments-eu)"],
        "pat": ["Asked to publish: refund_card, approved under 1 min ago (payments-eu)"],
    }


@pytest.mark.parametrize(
    ("verdict", "word"),
    [(review.Verdict.REJECT, "Rejected"), (review.Verdict.REQUEST_CHANGES, "Changes requested")],
)
def test_any_other_verdict_is_told_to_the_author_alone(
    verdict: review.Verdict, word: str, ada: Actor, grace: Actor
) -> None:
    request = a_submitted_change(author=ada)
    delivered()
    reviews.give_verdict(
        request_id=request.pk, actor=grace, verdict=verdict, digest=request.digest, reason="The limit is missing."
    )
    told = delivered()
    assert list(told) == ["ada"]
    assert told["ada"][0].subject == f"{word}: refund_card, under 1 min ago (payments-eu)"
    assert "> The limit is missing." in told["ada"][0].body


def test_publishing_is_told_to_the_author(ada: Actor, grace: Actor, pat: Actor) -> None:
    request = an_approved_change(author=ada, reviewer=grace)
    delivered()
    publishing.publish(request_id=request.pk, actor=pat, digest=request.digest)
    assert subjects() == {"ada": ["Live: refund_card, under 1 min ago (payments-eu)"]}


def test_whoever_published_it_first_spares_the_other_publishers_the_question(
    ada: Actor, grace: Actor, pat: Actor
) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    assert subjects() == {
        "ada": [
            "Approved: refund_card, under 1 min ago (payments-eu)",
            "Live: refund_card, under 1 min ago (payments-eu)",
        ]
    }


def test_a_withdrawal_is_told_to_authors_and_judges_but_not_to_whoever_withdrew(
    ada: Actor, grace: Actor, root: Actor
) -> None:
    alma = a_colleague(root, "alma", "author")
    request = an_approved_change(author=ada, reviewer=grace)
    delivered()
    reviews.withdraw(request_id=request.pk, actor=alma, reason="Not now.")
    withdrawn = "Withdrawn: refund_card, under 1 min ago (payments-eu)"
    assert subjects() == {"ada": [withdrawn], "grace": [withdrawn]}


def test_a_revoke_is_told_to_author_and_publishers_and_asks_reviewers_to_look_back(
    ada: Actor, grace: Actor, pat: Actor, root: Actor
) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    delivered()
    publishing.revoke(document_id=Document.objects.get().pk, reason="Refunded twice.", actor=root)
    told = delivered()
    assert {name: [message.subject for message in found] for name, found in told.items()} == {
        "ada": ["Revoked: refund_card, under 1 min ago (payments-eu)"],
        "pat": ["Revoked: refund_card, under 1 min ago (payments-eu)"],
        "grace": ["Revoked, look back: refund_card, under 1 min ago (payments-eu)"],
    }
    assert "> Refunded twice." in told["grace"][0].body


def test_the_closed_review_of_a_revoke_is_told_to_the_admin_and_the_author(
    ada: Actor, grace: Actor, pat: Actor, root: Actor
) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    publication = publishing.revoke(document_id=Document.objects.get().pk, reason="Refunded twice.", actor=root)
    after = publication.request
    assert after is not None
    delivered()
    reviews.give_verdict(request_id=after.pk, actor=grace, verdict=review.Verdict.APPROVE, digest=after.digest)
    assert subjects() == {name: ["Approved: refund_card, under 1 min ago (payments-eu)"] for name in ("ada", "root")}


def test_a_change_that_a_revoke_made_stale_is_told_to_its_author(
    ada: Actor, grace: Actor, pat: Actor, root: Actor
) -> None:
    alma = a_colleague(root, "alma", "author")
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    a_submitted_change(author=alma, trust_completion=False)
    delivered()
    publishing.revoke(document_id=Document.objects.get().pk, reason="Refunded twice.", actor=root)
    assert subjects()["alma"] == ["Stale: refund_card, under 1 min ago (payments-eu)"]


def test_a_call_that_waits_is_told_to_settlers_alone(reachable: Cast) -> None:
    a_tool(reachable)
    delivered()
    a_waiting_call(reachable)
    assert subjects() == {"noor": ["Waits: refund_card, for under 1 min (payments-eu)"]}


def test_a_call_that_waits_where_nobody_settles_is_told_to_admins(reachable: Cast, root: Actor, noor: Actor) -> None:
    a_tool(reachable)
    people.change_roles(person_id=noor.person_id, roles=["viewer"], actor=root)
    delivered()
    a_waiting_call(reachable)
    assert list(delivered()) == ["root"]


def test_an_overdue_call_is_told_to_settlers_and_admins(reachable: Cast) -> None:
    a_tool(reachable)
    call = a_waiting_call(reachable)
    delivered()
    Intent.objects.filter(pk=call.pk).update(waits_at=call.waits_at - timedelta(hours=5))
    overdue = "Overdue: refund_card, for 5 h (payments-eu)"
    assert subjects() == {"noor": [overdue], "root": [overdue]}


def test_an_answer_is_told_to_those_who_were_told_and_to_the_tools_author(
    reachable: Cast, noor: Actor, root: Actor
) -> None:
    a_colleague(root, "nils", "settler")
    a_tool(reachable)
    call = a_waiting_call(reachable)
    delivered()
    settle(call, noor)
    delivered()
    rows = Delivery.objects.filter(kind="call_answered")
    assert {(row.person.username, row.mode) for row in rows} == {("nils", "digest"), ("ada", "digest")}


def test_a_call_put_off_and_come_back_is_told_again(reachable: Cast, noor: Actor) -> None:
    a_tool(reachable)
    call = a_waiting_call(reachable)
    assert "noor" in delivered()
    settlement.leave_unknown(
        intent_id=call.pk, actor=noor, reason="It is down.", look_again_at=database_now() + timedelta(hours=1)
    )
    assert "noor" not in delivered()
    Intent.objects.filter(pk=call.pk).update(waits_at=database_now())
    assert subjects()["noor"] == ["Waits: refund_card, for under 1 min (payments-eu)"]


def test_a_case_handed_over_is_told_to_whoever_has_it_now(reachable: Cast, noor: Actor, root: Actor) -> None:
    a_colleague(root, "nils", "settler")
    a_tool(reachable)
    call = a_waiting_call(reachable)
    delivered()
    settlement.claim_case(intent_id=call.pk, actor=noor)
    settlement.hand_over_case(intent_id=call.pk, actor=noor, to="nils")
    assert subjects() == {"nils": ["Handed to you: refund_card, under 1 min ago (payments-eu)"]}


def test_a_new_token_is_told_to_whom_it_speaks_for(ada: Actor) -> None:
    people.create_personal_token(person=ada.person, scope="draft", lives=timedelta(hours=1), name="ci", actor=ada)
    assert subjects() == {"ada": ["Token made: ci, under 1 min ago (payments-eu)"]}


def test_somebody_deactivated_hears_nothing(ada: Actor, grace: Actor, root: Actor) -> None:
    people.deactivate_person(person_id=grace.person_id, reason="left", actor=root)
    a_submitted_change(author=ada)
    assert delivered() == {}


def test_somebody_deactivated_while_their_mail_was_queued_hears_nothing(ada: Actor, grace: Actor, root: Actor) -> None:
    a_submitted_change(author=ada)
    assert queueing.empty_outbox() == 1
    people.deactivate_person(person_id=grace.person_id, reason="left", actor=root)
    assert delivered() == {}
    assert Delivery.objects.get().standing == "dropped"


def test_another_workspace_hears_nothing_and_is_not_told_of(reachable: Cast, ada: Actor, kim: Actor) -> None:
    with_addresses(reachable)
    a_tool(reachable)
    a_waiting_call(reachable)
    a_submitted_change(author=kim, name="move_crate")
    told = delivered()
    assert "kim" not in told
    assert [message for found in told.values() for message in found if "move_crate" in message.body] == []


def test_a_person_without_an_address_is_no_obstacle_to_others(ada: Actor, grace: Actor, root: Actor) -> None:
    rita = a_colleague(root, "rita", "reviewer")
    type(rita.person).objects.filter(pk=grace.person_id).update(email="")
    a_submitted_change(author=ada)
    assert list(delivered()) == ["rita"]


def test_every_topic_that_is_told_has_a_rule() -> None:
    told: set[str] = set()
    for path in HOUSE.rglob("*.py"):
        text = path.read_text()
        told |= set(re.findall(r'outbox\.tell\(\s*"([\w.]+)"', text))
        told |= set(re.findall(r'\b_?(?:tell|record)\(\s*(?:acting, )?"((?:case|document|change_request)\.\w+)"', text))
    told = {topic for topic in told if topic.split(".")[0] == "case" or is_told(topic)}
    assert {"change_request.submitted", "document.revoked", "case.settled", "personal_token.created"} <= told
    assert told - set(recipients.RULES) - recipients.UNHEARD == set()


def is_told(topic: str) -> bool:
    """Whether the topic goes to the outbox, and not to the audit trail alone."""
    pattern = re.compile(rf'(?:outbox\.tell\(|_tell\(acting,)\s*"{re.escape(topic)}"')
    return any(pattern.search(path.read_text()) for path in HOUSE.rglob("*.py"))


def test_a_message_is_queued_once_for_each_person(ada: Actor, root: Actor) -> None:
    a_colleague(root, "rita", "reviewer", "publisher")
    a_submitted_change(author=ada)
    message = Message.objects.get()
    assert len({hearing.person_id for hearing in recipients.of_message(message)}) == len(recipients.of_message(message))
