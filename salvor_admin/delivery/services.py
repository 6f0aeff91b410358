"""What people decide about their mail: what they hear, and that parked mail is tried again."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from salvor_admin.audit import services as audit
from salvor_admin.delivery.models import Delivery, MailPreference
from salvor_admin.domain.mailing import DEFAULTS, Group, Mode, Standing
from salvor_admin.domain.rights import Role
from salvor_admin.outbox.models import Message
from salvor_admin.people import access
from salvor_admin.people.access import Actor
from salvor_admin.web.clock import database_now


@transaction.atomic
def choose_mail(*, actor: Actor, address: str, modes: Mapping[Group, Mode]) -> MailPreference:
    """Keeps where and how soon a person hears what in this workspace; what is not named keeps its default."""
    actor = access.deciding(actor)
    now = database_now()
    chosen = {group.value: modes.get(group, default).value for group, default in DEFAULTS.items()}
    preference, _ = MailPreference.objects.update_or_create(
        workspace=actor.workspace,
        person=actor.person,
        defaults={"address": address, "changed_at": now, **chosen},
    )
    audit.record(
        "mail_preference.changed",
        subject=("person", actor.person_id),
        actor=actor,
        at=now,
        details={"username": actor.person.username, "has_own_address": bool(address), **chosen},
    )
    return preference


@transaction.atomic
def retry_parked(*, actor: Actor) -> int:
    """Puts everything that is parked in this workspace back into the queue, as if never tried; how much it was."""
    actor = access.deciding(actor)
    access.require(actor, Role.ADMIN, "have parked mail tried again")
    now = database_now()
    deliveries = Delivery.objects.filter(workspace=actor.workspace, standing=Standing.PARKED.value).update(
        standing=Standing.QUEUED.value, closed_at=None, attempts=0, next_attempt_at=now
    )
    messages = Message.objects.filter(
        workspace=actor.workspace, parked_at__isnull=False, delivered_at__isnull=True
    ).update(parked_at=None, attempts=0, next_attempt_at=now)
    audit.record(
        "mail.retried",
        subject=("workspace", actor.workspace_key),
        actor=actor,
        at=now,
        details={"deliveries": deliveries, "messages": messages},
    )
    return deliveries + messages
