"""The page of one's mail: choosing, what was told of late, and parked mail for admins."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from salvor_admin.audit.models import Entry
from salvor_admin.delivery import queueing
from salvor_admin.delivery.models import Delivery, MailPreference
from salvor_admin.domain.mailing import DEFAULTS
from salvor_admin.outbox.models import Message
from salvor_admin.people.access import Actor
from salvor_admin.web.clock import database_now
from tests.delivery.factories import delivered
from tests.people.factories import PASSWORD, Cast
from tests.reviews.factories import a_submitted_change

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("reachable")]

PATH = "/w/payments-eu/settings/mail/"
CHOICE = {"address": "", **{group.value: "at_once" for group in DEFAULTS}}


def client_of(name: str) -> Client:
    client = Client()
    assert client.login(username=name, password=PASSWORD)
    return client


def test_a_choice_is_kept_for_its_person_and_told_to_the_audit_trail(grace: Actor) -> None:
    reply = client_of("grace").post(PATH, {**CHOICE, "address": "g@reviews.test", "asked": "digest", "answered": "off"})
    assert (reply.status_code, reply["Location"]) == (302, PATH)
    kept = MailPreference.objects.get()
    assert (kept.person, kept.workspace) == (grace.person, grace.workspace)
    assert (kept.address, kept.asked, kept.answered, kept.waiting) == ("g@reviews.test", "digest", "off", "at_once")
    assert Entry.objects.filter(action="mail_preference.changed", text__contains='"asked":"digest"').count() == 1


def test_choosing_again_changes_the_one_choice(grace: Actor) -> None:
    client = client_of("grace")
    for mode in ("digest", "off"):
        client.post(PATH, {**CHOICE, "asked": mode})
    assert MailPreference.objects.get().asked == "off"


@pytest.mark.parametrize(
    "odd", [{"asked": "sometimes"}, {"address": "no address"}, {"address": "a@b.test\nBcc: c@d.test"}]
)
def test_an_odd_choice_is_refused_beside_its_field_and_changes_nothing(odd: dict[str, str]) -> None:
    reply = client_of("grace").post(PATH, {**CHOICE, **odd})
    assert reply.status_code == 422
    assert f'id="id_{next(iter(odd))}_error"' in reply.content.decode()
    assert not MailPreference.objects.exists()


def test_the_page_shows_the_defaults_until_somebody_chooses(grace: Actor) -> None:
    page = client_of("grace").get(PATH).content.decode()
    assert '<option value="digest" selected>' in page
    assert page.count("selected>At once") == 5
    assert "Address given by an admin: grace@example.test" in page
    assert not MailPreference.objects.exists()


def test_the_page_says_when_no_address_is_known(grace: Actor) -> None:
    type(grace.person).objects.filter(pk=grace.person_id).update(email="")
    assert "No address of yours is known" in client_of("grace").get(PATH).content.decode()


def test_the_page_lists_what_was_told_to_this_person_alone(ada: Actor) -> None:
    a_submitted_change(author=ada)
    delivered()
    assert "A change to review" in client_of("grace").get(PATH).content.decode()
    assert "A change to review" not in client_of("pat").get(PATH).content.decode()


def test_the_page_asks_no_more_often_for_ten_deliveries_than_for_one(ada: Actor) -> None:
    client = client_of("grace")
    client.get(PATH)
    counts = []
    for number in (1, 10):
        for place in range(number):
            a_submitted_change(author=ada, name=f"tool_{number}_{place}")
        queueing.empty_outbox()
        with CaptureQueriesContext(connection) as queries:
            assert client.get(PATH).content.decode().count("A change to review") >= number
        counts.append(len(queries))
    assert counts[0] == counts[1]


@pytest.fixture
def parked(cast: Cast, ada: Actor) -> tuple[Delivery, Message]:
    a_submitted_change(author=ada)
    queueing.empty_outbox()
    now = database_now()
    Delivery.objects.update(standing="parked", closed_at=now, attempts=12, last_error="SMTPDataError: <b>554</b>")
    message = Message.objects.create(
        workspace=cast.workspace,
        topic="weather.changed",
        subject_kind="weather",
        subject_id="1",
        created_at=now,
        next_attempt_at=now,
        parked_at=now,
        attempts=12,
        last_error="LookupError: no rule",
    )
    return Delivery.objects.get(), message


def test_an_admin_sees_what_is_parked_and_why(parked: object) -> None:
    page = client_of("root").get(PATH).content.decode()
    assert "2 parked in this workspace" in page
    assert "SMTPDataError: &lt;b&gt;554&lt;/b&gt;" in page
    assert "parked in this workspace" not in client_of("grace").get(PATH).content.decode()


def test_an_admin_puts_what_is_parked_back_into_the_queue(parked: tuple[Delivery, Message]) -> None:
    assert client_of("root").post(f"{PATH}retry/").status_code == 302
    row, message = parked
    row.refresh_from_db()
    message.refresh_from_db()
    assert (row.standing, row.closed_at, row.attempts) == ("queued", None, 0)
    assert (message.parked_at, message.attempts) == (None, 0)
    assert Entry.objects.filter(action="mail.retried").count() == 1


def test_nobody_else_puts_parked_mail_back(parked: tuple[Delivery, Message]) -> None:
    assert client_of("grace").post(f"{PATH}retry/").status_code == 403
    assert client_of("root").get(f"{PATH}retry/").status_code == 405
    parked[0].refresh_from_db()
    assert parked[0].standing == "parked"
    assert not Entry.objects.filter(action="mail.retried").exists()


def test_an_admin_of_another_workspace_neither_sees_nor_moves_it(parked: tuple[Delivery, Message], kim: Actor) -> None:
    client = client_of("kim")
    assert "parked in this workspace" not in client.get("/w/logistics/settings/mail/").content.decode()
    client.post("/w/logistics/settings/mail/retry/")
    parked[0].refresh_from_db()
    assert parked[0].standing == "parked"


def test_the_settings_lead_to_it() -> None:
    assert f'href="{PATH}"' in client_of("grace").get("/w/payments-eu/settings/").content.decode()
