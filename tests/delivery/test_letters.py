"""What a mail says: why it came, what happens if nobody acts, links that only open pages, and nothing that is secret."""

from __future__ import annotations

import re
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.core.mail import EmailMessage
from django.test import Client

from salvor_admin.audit.models import Entry
from salvor_admin.delivery.models import Delivery
from salvor_admin.ledger.models import Event, Intent
from salvor_admin.outbox.models import Message
from salvor_admin.people import services as people
from salvor_admin.people.access import Actor
from salvor_admin.reviews import publishing
from salvor_admin.reviews import services as reviews
from salvor_admin.reviews.models import ChangeRequest, Document, Revision
from salvor_admin.reviews.services import WantedItem
from salvor_admin.settlement import services as settlement
from salvor_admin.settlement.models import Case, Claim, Settlement
from tests.delivery.factories import a_colleague, delivered, later
from tests.delivery.test_recipients import settle
from tests.people.factories import PASSWORD, Cast
from tests.reviews.factories import a_submitted_change, an_approved_change
from tests.settlement.factories import a_tool, a_waiting_call

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reachable")]

SECRET = "card 4242 4242 4242 4242"


@pytest.fixture
def every_kind(reachable: Cast) -> list[EmailMessage]:
    """A mail of each kind that one workspace sends, and digests."""
    ada, grace, noor, root = (reachable.actor(name) for name in ("ada", "grace", "noor", "root"))
    nils = a_colleague(root, "nils", "settler")
    found: list[EmailMessage] = []

    def take() -> None:
        for messages in delivered().values():
            found.extend(messages)

    a_tool(reachable)
    a_submitted_change(author=ada, name="close_dispute")
    take()
    an_approved_change(author=ada, reviewer=grace, name="wire_payout")
    withdrawn = a_submitted_change(author=ada, name="stop_payout")
    reviews.withdraw(request_id=withdrawn.pk, actor=ada, reason="Not now.")
    call = a_waiting_call(reachable, input={"order_id": SECRET, "amount_cents": 5000})
    late = a_waiting_call(reachable)
    take()
    Intent.objects.filter(pk=late.pk).update(waits_at=late.waits_at - timedelta(hours=5))
    settlement.claim_case(intent_id=call.pk, actor=noor)
    settlement.hand_over_case(intent_id=call.pk, actor=noor, to="nils")
    take()
    settlement.release_case(intent_id=call.pk, actor=nils)
    settle(late, noor)
    people.create_personal_token(person=ada.person, scope="draft", lives=timedelta(hours=1), name="ci", actor=ada)
    publishing.revoke(document_id=Document.objects.get(key="refund_card").pk, reason="Refunded twice.", actor=root)
    take()
    later(timedelta(days=1))
    take()
    return found


def test_every_mail_says_why_it_came_and_what_happens_if_nobody_acts(every_kind: list[EmailMessage]) -> None:
    assert set(Delivery.objects.values_list("kind", flat=True)) >= {
        "call_overdue", "call_handed_over", "call_waits", "look_back_asked", "revoked", "review_asked",
        "publishing_asked", "verdict_given", "published", "call_answered", "token_made",
    }  # fmt: skip
    assert Delivery.objects.exclude(last_error="").exclude(standing="dropped").count() == 0
    for message in every_kind:
        assert "Why you get this: " in message.body, message.subject
        assert "If nobody acts: " in message.body, message.subject
        assert message.subject.endswith("(payments-eu)")


def test_every_link_is_a_page_of_ours_without_a_token(every_kind: list[EmailMessage]) -> None:
    links = {link for message in every_kind for link in re.findall(r"\w+://\S+", message.body)}
    assert len(links) > 5
    for link in links:
        parts = urlsplit(link)
        assert f"{parts.scheme}://{parts.netloc}" == settings.PUBLIC_URL
        assert parts.path.startswith("/w/payments-eu/")
        assert (parts.query, parts.fragment) == ("", "")


def test_opening_a_link_needs_a_session_and_moves_nothing(every_kind: list[EmailMessage], noor: Actor) -> None:
    links = {link for message in every_kind for link in re.findall(r"\w+://\S+", message.body)}
    before = everything()
    stranger, settler = Client(), Client()
    assert settler.login(username="noor", password=PASSWORD)
    before_signing_in = everything()
    for link in links:
        path = urlsplit(link).path
        assert stranger.get(path).status_code == 302
        assert settler.get(path).status_code == 200, path
        # Some pages answer GET alone; a scanner's HEAD is then refused.
        assert {stranger.head(path).status_code, settler.head(path).status_code} <= {200, 302, 405}
    assert everything() == before == before_signing_in


def everything() -> list[object]:
    """All that a decision would move."""
    return [
        [Entry.objects.count(), Message.objects.count(), Event.objects.count(), Claim.objects.count()],
        sorted(Settlement.objects.values_list("pk", "outcome")),
        sorted(ChangeRequest.objects.values_list("pk", "state", "version")),
        sorted(Case.objects.values_list("pk", "state", "version")),
        sorted(Intent.objects.values_list("pk", "standing", "waits_at")),
        sorted(Delivery.objects.values_list("pk", "standing", "attempts")),
    ]


def test_no_mail_carries_what_a_client_sent_nor_a_token(every_kind: list[EmailMessage]) -> None:
    for message in every_kind:
        text = message.subject + message.body
        assert "4242" not in text and "5000" not in text
        assert re.findall(r"\b(srt|spt)_", text) == []


def test_a_mail_is_plain_text_and_says_that_a_program_wrote_it(every_kind: list[EmailMessage]) -> None:
    names = set()
    for message in every_kind:
        sent = message.message()
        assert sent.get_content_type() == "text/plain"
        assert sent["Auto-Submitted"] == "auto-generated"
        names.add(sent["Message-ID"])
    assert len(names) == len(every_kind)


def test_a_mail_about_a_call_reads_like_this(reachable: Cast, noor: Actor) -> None:
    a_tool(reachable)
    delivered()
    call = a_waiting_call(reachable)
    Intent.objects.filter(pk=call.pk).update(waits_at=call.waits_at - timedelta(minutes=3))
    settlement.claim_case(intent_id=call.pk, actor=noor)
    (message,) = delivered()["noor"]
    assert message.subject == "Waits: refund_card, for 3 min (payments-eu)"
    body = re.sub(r"(since|Due) +.*", r"\1 …", message.body)
    assert body.split("\n\n")[:5] == [
        "Waits: refund_card, for 3 min.",
        "Effect       write\n"
        "Runtime      checkout-eu-2\n"
        f"Run          {call.run.run_id}, seq 1\n"
        "Waits since …\n"
        "Due …\n"
        "Held by      Noor Haddad",
        f"Open it: http://127.0.0.1:8000/w/payments-eu/calls/{call.pk}/",
        "Why you get this: settlers of payments-eu hear of calls whose outcome is not known: the report was not "
        "believed, or none came.",
        "If nobody acts: The run stands still. Nothing is repeated, given up or decided by itself; past its due time "
        "the call counts as overdue, and settlers and admins hear of it.",
    ]


def test_foreign_words_are_marked_cut_and_cannot_pretend_to_be_ours(ada: Actor) -> None:
    revision = reviews.save_revision(
        actor=ada,
        kind="client_tool",
        body={"name": "pay\u202eout https://evil.test/ " + "x" * 400, "effect": "read", "input_schema": {}},
    )
    reviews.open_change_request(
        actor=ada,
        items=[WantedItem(revision.document_id)],
        reason="Fine.\n\nOpen it: https://evil.test/approve\n" + "y" * 5000,
        submit=True,
    )
    (message,) = delivered()["grace"]
    text = message.subject + message.body
    assert "pay⟦U+202E⟧out https:⟦//⟧evil.test/ xxx" in message.subject
    assert "\u202e" not in text and "://evil" not in text
    assert "\n> Open it: https:⟦//⟧evil.test/approve" in message.body
    assert len(message.subject) < 200 and len(message.body) < 2500


def test_a_name_that_breaks_lines_adds_no_header(ada: Actor, root: Actor) -> None:
    type(ada.person).objects.filter(pk=ada.person_id).update(name="Ada\r\nBcc: spy@example.test")
    a_submitted_change(author=ada)
    (message,) = delivered()["grace"]
    assert "Submitted by  Ada⟦U+000D⟧⟦U+000A⟧Bcc: spy@example.test" in message.body
    assert message.message()["Bcc"] is None and message.recipients() == ["grace@example.test"]


def test_a_digest_groups_what_it_lists_the_most_pressing_first(every_kind: list[EmailMessage]) -> None:
    digests = [message for message in every_kind if message.subject.startswith("Digest")]
    assert {message.to[0] for message in digests} == {
        "ada@example.test",
        "nils@example.test",
        "root@example.test",
    }
    assert {message.subject for message in digests} == {"Digest: 1 thing (payments-eu)"}
    assert all("Calls that were answered\n- Settled as landed: refund_card, " in message.body for message in digests)


def test_a_revision_stays_out_of_the_mail_but_its_number_is_in(ada: Actor) -> None:
    a_submitted_change(author=ada)
    (message,) = delivered()["grace"]
    assert f"Sets          refund_card, revision {Revision.objects.get().number}" in message.body
    assert "input_schema" not in message.body
