"""People with addresses, and what the mail server was given."""

from __future__ import annotations

from datetime import timedelta

from django.core import mail
from django.core.mail import EmailMessage
from django.db.models import F

from salvor_admin.delivery import queueing, sending
from salvor_admin.delivery.models import Delivery
from salvor_admin.people import services as people
from salvor_admin.people.access import Actor, actor_in
from salvor_admin.people.models import Person
from tests.people.factories import Cast


def with_addresses(cast: Cast, *names: str) -> None:
    """Makes these people, or the whole cast, reachable."""
    for name in names or ("ada", "grace", "pat", "noor", "root"):
        cast.actor(name)
    for person in Person.objects.filter(email=""):
        Person.objects.filter(pk=person.pk).update(email=f"{person.username}@example.test")


def a_colleague(admin: Actor, name: str, *roles: str) -> Actor:
    """Somebody more in the admin's workspace, with an address."""
    person = people.create_person(
        username=name, name=name.capitalize(), email=f"{name}@example.test", roles=roles, actor=admin
    ).person
    return actor_in(person, admin.workspace_key, via="page")


def delivered() -> dict[str, list[EmailMessage]]:
    """Runs every sweep once; what each person was sent by it, by user name."""
    mail.outbox.clear()
    queueing.empty_outbox()
    queueing.notice_calls()
    sending.send_mail()
    found: dict[str, list[EmailMessage]] = {}
    for message in mail.outbox:
        (address,) = message.to
        found.setdefault(address.split("@")[0], []).append(message)
    return found


def subjects() -> dict[str, list[str]]:
    """The same, by subject alone."""
    return {name: sorted(message.subject for message in found) for name, found in delivered().items()}


def later(by: timedelta) -> None:
    """Lets time pass for everything that is queued."""
    Delivery.objects.filter(standing="queued").update(next_attempt_at=F("next_attempt_at") - by)
