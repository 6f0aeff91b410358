"""Every write about runtimes and their tokens."""

from __future__ import annotations

import unicodedata
from datetime import timedelta
from typing import Final, NamedTuple
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q

from salvor_admin.audit import services as audit
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role, Scope
from salvor_admin.people import access as people_access
from salvor_admin.people import tokens
from salvor_admin.people.access import Actor
from salvor_admin.people.services import Shell
from salvor_admin.runtimes import access
from salvor_admin.runtimes.models import Runtime, RuntimeToken
from salvor_admin.web.clock import database_now

LONGEST_NAME: Final = 120
#: A driver that dies holds its run for this long at most.
LONGEST_LEASE_SECONDS: Final = 24 * 3600


class NewRuntimeToken(NamedTuple):
    row: RuntimeToken
    token: str


def _admin(actor: Actor | Shell, purpose: str) -> Actor | Shell:
    """Whoever runs a command on the machine may; of people, an admin."""
    if isinstance(actor, Actor):
        people_access.require_scope(actor, Scope.DECIDE, purpose)
        actor = people_access.deciding(actor)
        people_access.require(actor, Role.ADMIN, purpose)
    return actor


def _name(text: str) -> str:
    name = text.strip()
    if not name or len(name) > LONGEST_NAME or any(unicodedata.category(character)[0] == "C" for character in name):
        raise Refusal(
            "bad_name",
            f"{text[:40]!r} is no name: write 1 to {LONGEST_NAME} characters, none of them invisible.",
            place="name",
        )
    return name


def _lease(seconds: int) -> int:
    if not 1 <= seconds <= LONGEST_LEASE_SECONDS:
        raise Refusal(
            "bad_lease",
            f"A lease of {seconds} seconds is not possible; choose 1 to {LONGEST_LEASE_SECONDS}.",
            place="lease_ttl_seconds",
        )
    return seconds


def _name_taken(name: str) -> Refusal:
    return Refusal("runtime_exists", f"There is a runtime {name} here already; choose another name.", place="name")


@transaction.atomic
def register_runtime(*, name: str, actor: Actor | Shell, lease_ttl_seconds: int = 60) -> Runtime:
    """A new service that may present tokens, or `runtime_exists`."""
    actor = _admin(actor, "register a runtime")
    name, lease_ttl_seconds = _name(name), _lease(lease_ttl_seconds)
    now = database_now()
    try:
        with transaction.atomic():
            runtime = Runtime.objects.create(
                workspace=actor.workspace,
                name=name,
                lease_ttl_seconds=lease_ttl_seconds,
                created_at=now,
                created_by_id=actor.person_id,
            )
    except IntegrityError:
        raise _name_taken(name) from None
    audit.record(
        "runtime.registered",
        subject=("runtime", runtime.pk),
        actor=actor,
        at=now,
        details={"name": name, "lease_ttl_seconds": lease_ttl_seconds},
    )
    return runtime


@transaction.atomic
def change_runtime(
    *,
    runtime_id: UUID,
    actor: Actor | Shell,
    name: str | None = None,
    lease_ttl_seconds: int | None = None,
    labels_believed: bool | None = None,
    is_active: bool | None = None,
) -> Runtime:
    """Changes what is given and leaves the rest; an inactive runtime's tokens open nothing from then on.

    `labels_believed` is an admin's word that what this runtime says of labels is true.
    """
    actor = _admin(actor, "change a runtime")
    wanted = {
        "name": None if name is None else _name(name),
        "lease_ttl_seconds": None if lease_ttl_seconds is None else _lease(lease_ttl_seconds),
        "labels_believed": labels_believed,
        "is_active": is_active,
    }
    runtime = access.runtime_for_change(actor, runtime_id)
    changes = {
        column: {"from": getattr(runtime, column), "to": value}
        for column, value in wanted.items()
        if value is not None and value != getattr(runtime, column)
    }
    if not changes:
        # A form saved as it stood is no act to remember.
        return runtime
    for column, change in changes.items():
        setattr(runtime, column, change["to"])
    try:
        with transaction.atomic():
            runtime.save(update_fields=list(changes))
    except IntegrityError:
        raise _name_taken(runtime.name) from None
    audit.record(
        "runtime.changed",
        subject=("runtime", runtime.pk),
        actor=actor,
        at=database_now(),
        details={"name": runtime.name, "changes": changes},
    )
    return runtime


@transaction.atomic
def create_runtime_token(
    *, runtime_id: UUID, actor: Actor | Shell, name: str = "", lives: timedelta | None = None
) -> NewRuntimeToken:
    """A token for an active runtime, shown once; without `lives` it holds until it is revoked."""
    actor = _admin(actor, "make a runtime token")
    if lives is not None and lives <= timedelta(0):
        raise Refusal("bad_lifetime", "A token lives for some time; choose at least a day.", place="days")
    runtime = access.runtime_for_change(actor, runtime_id)
    if not runtime.is_active:
        raise Refusal(
            "wrong_state",
            f"{runtime.name} is switched off, so a token for it would open nothing; switch it on first.",
            details={"state": "inactive"},
        )
    now = database_now()
    token, token_hash = tokens.new_token(tokens.RUNTIME_PREFIX)
    row = RuntimeToken.objects.create(
        runtime=runtime,
        name=_name(name or f"token of {runtime.name}"[:LONGEST_NAME]),
        token_hash=token_hash,
        created_at=now,
        created_by_id=actor.person_id,
        expires_at=None if lives is None else now + lives,
    )
    audit.record(
        "runtime_token.created",
        subject=("runtime_token", row.pk),
        actor=actor,
        at=now,
        details={
            "runtime": str(runtime.pk),
            "of": runtime.name,
            "name": row.name,
            "expires_at": row.expires_at.isoformat() if row.expires_at else None,
        },
    )
    return NewRuntimeToken(row, token)


@transaction.atomic
def revoke_runtime_token(*, token_id: int, actor: Actor | Shell) -> RuntimeToken:
    """Ends a runtime's token at once."""
    actor = _admin(actor, "revoke a runtime token")
    row = access.token_for_change(actor, token_id)
    if row.revoked_at is not None:
        raise Refusal("wrong_state", "This token is revoked already.", details={"state": "revoked"})
    now = database_now()
    row.revoked_at = now
    row.save(update_fields=["revoked_at"])
    audit.record(
        "runtime_token.revoked",
        subject=("runtime_token", row.pk),
        actor=actor,
        at=now,
        details={"runtime": str(row.runtime_id), "of": row.runtime.name, "name": row.name},
    )
    return row


def record_loaded(*, runtime_id: UUID, publication: int) -> bool:
    """Notes that a runtime now has this publication; writes only when that is news, and never goes back to an older one."""
    news = Q(loaded_publication__isnull=True) | Q(loaded_publication__lt=publication)
    return bool(
        Runtime.objects.filter(news, pk=runtime_id).update(loaded_publication=publication, loaded_at=database_now())
    )
