"""Every write about people, their roles and their tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F

from salvor_admin.audit import services as audit
from salvor_admin.domain import hidden_text
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import TOKEN_SCOPES, Role, known_roles
from salvor_admin.outbox import services as outbox
from salvor_admin.people import access, tokens
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Membership, Person, PersonalToken, Workspace
from salvor_admin.web.clock import database_now

WORKSPACE_KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
USERNAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,59}\Z")
LONGEST_NAME = 120
#: A personal token is not under MFA, so it never outlives a day.
LONGEST_PERSONAL_TOKEN = timedelta(hours=24)


class Shell(NamedTuple):
    """Whoever runs a command on the machine: no person, named as such in the audit trail."""

    workspace: Workspace
    via: str = "command"

    @property
    def workspace_id(self) -> int:
        return self.workspace.pk

    @property
    def workspace_key(self) -> str:
        return self.workspace.key

    @property
    def person_id(self) -> int | None:
        return None

    @property
    def person_name(self) -> str:
        return "shell"


class NewPerson(NamedTuple):
    person: Person
    one_time_password: str | None


class NewToken(NamedTuple):
    row: PersonalToken
    token: str


def next_number(workspace_id: int, counter: str) -> int:
    """The next number of `last_change_request`, `last_case` or `last_publication`; the row stays locked until commit."""
    Workspace.objects.filter(pk=workspace_id).update(**{counter: F(counter) + 1})
    number = Workspace.objects.values_list(counter, flat=True).get(pk=workspace_id)
    return int(number)


@transaction.atomic
def create_workspace(*, key: str, name: str = "") -> Workspace:
    """A new walled space, or `workspace_exists`."""
    if not WORKSPACE_KEY.match(key) or len(key) > 60:
        raise Refusal(
            "bad_name",
            f"{key!r} is no workspace key: use small letters, digits and single hyphens, at most 60 characters.",
            place="key",
        )
    now = database_now()
    try:
        with transaction.atomic():
            workspace = Workspace.objects.create(
                key=key, name=name or key.replace("-", " ").capitalize(), created_at=now
            )
    except IntegrityError:
        raise Refusal(
            "workspace_exists", f"There is a workspace {key} already; choose another key.", place="key"
        ) from None
    audit.record("workspace.created", subject=("workspace", key), actor=Shell(workspace), at=now)
    return workspace


def _roles(names: Iterable[str]) -> list[Role]:
    roles, strangers = known_roles(names)
    if strangers:
        raise Refusal(
            "unknown_role",
            f"{', '.join(strangers)} is no role; the roles are {', '.join(role.value for role in Role)}.",
            place="roles",
        )
    return roles


def _full_name(text: str) -> str:
    """A name as it is shown beside every decision: on one line, and nothing in it that cannot be seen."""
    name = " ".join(text.split())
    if len(name) > LONGEST_NAME or hidden_text.count_hidden(name):
        raise Refusal(
            "bad_name", f"A full name holds at most {LONGEST_NAME} characters, none of them invisible.", place="name"
        )
    return name


@transaction.atomic
def create_person(
    *,
    username: str,
    roles: Iterable[str],
    actor: Actor | Shell,
    name: str = "",
    email: str = "",
) -> NewPerson:
    """Somebody new with a one-time password; somebody who is known elsewhere is only added to this workspace."""
    # Locked before any membership, as when they are deactivated: they are not added while their access ends.
    person = Person.objects.select_for_update(no_key=True).filter(username__iexact=username.replace("\0", "")).first()
    if isinstance(actor, Actor):
        actor = access.deciding(actor)
        access.require(actor, Role.ADMIN, "add people")
    granted = _roles(roles)
    if not USERNAME.match(username):
        raise Refusal(
            "bad_name",
            f"{username!r} is no user name: letters, digits and . _ @ + - only, 1 to 60, starting with a letter or digit.",
            place="username",
        )
    name = _full_name(name)
    now = database_now()
    password: str | None = None
    if person is not None and not person.is_active:
        raise Refusal(
            "wrong_state",
            f"{person.username} is deactivated. An admin of a workspace they belong to lets them back in first.",
            place="username",
            details={"state": "deactivated"},
        )
    if person is None:
        password = tokens.one_time_password()
        person = Person(
            username=username, name=name or username.capitalize(), email=email, joined_at=now, must_change_password=True
        )
        person.set_password(password)
        try:
            with transaction.atomic():
                person.save()
        except IntegrityError:
            raise Refusal(
                "person_exists", f"Somebody else just added {username}; look at the list again.", place="username"
            ) from None
    _, created = Membership.objects.get_or_create(
        person=person, workspace=actor.workspace, defaults={"roles": [r.value for r in granted], "since": now}
    )
    if not created:
        raise Refusal(
            "person_exists",
            f"{person.username} is in this workspace already; change their roles instead.",
            place="username",
        )
    audit.record(
        "person.created",
        subject=("person", person.pk),
        actor=actor,
        at=now,
        details={"username": person.username, "roles": [role.value for role in granted]},
    )
    return NewPerson(person, password)


@transaction.atomic
def change_roles(*, person_id: int, roles: Iterable[str], actor: Actor) -> Membership:
    """Gives a person exactly these roles here; effective at their next decision."""
    _lock_admins(actor)
    actor = access.deciding(actor)
    access.require(actor, Role.ADMIN, "change roles")
    granted = _roles(roles)
    membership = _membership(actor, person_id)
    before = list(membership.roles)
    if Role.ADMIN.value in before and Role.ADMIN not in granted:
        _refuse_last_admin(actor, person_id)
    membership.roles = [role.value for role in granted]
    membership.save(update_fields=["roles"])
    audit.record(
        "person.roles_changed",
        subject=("person", person_id),
        actor=actor,
        at=database_now(),
        details={"username": membership.person.username, "from": before, "to": membership.roles},
    )
    return membership


def _membership(actor: Actor | Shell, person_id: int) -> Membership:
    membership = (
        Membership.objects.select_for_update(of=("self",))
        .select_related("person")
        .filter(workspace_id=actor.workspace_id, person_id=person_id)
        .first()
    )
    if membership is None:
        raise Refusal("not_found", "There is no such person in this workspace. Look at the list of people again.")
    return membership


def _lock_admins(actor: Actor) -> None:
    """The rows of all admins here, in one order: two who take each other's role neither deadlock nor both succeed."""
    list(
        Membership.objects.select_for_update()
        .filter(workspace_id=actor.workspace_id, roles__contains=[Role.ADMIN.value])
        .order_by("pk")
        .values_list("pk", flat=True)
    )


def _refuse_last_admin(actor: Actor, person_id: int) -> None:
    others = Membership.objects.filter(
        workspace_id=actor.workspace_id, roles__contains=[Role.ADMIN.value], person__is_active=True
    ).exclude(person_id=person_id)
    if not others.exists():
        raise Refusal("last_admin", "This is the last admin here; make somebody else an admin first.")


def _belongs_to_others(person: Person, actor: Actor) -> bool:
    """Whether the person also works in a workspace that is not the actor's to administer, or has no other admin."""
    admins = Membership.objects.filter(roles__contains=[Role.ADMIN.value], person__is_active=True)
    mine = admins.filter(person_id=actor.person_id).exclude(person_id=person.pk).values("workspace_id")
    elsewhere = Membership.objects.filter(person=person).exclude(workspace_id=actor.workspace_id)
    return elsewhere.exclude(workspace_id__in=mine).exists()


@transaction.atomic
def deactivate_person(*, person_id: int, reason: str, actor: Actor) -> Person:
    """Ends a person's sessions and tokens at once; their open verdicts count no more.

    Workspaces are walls: somebody who also works where the actor is no admin is taken out of this workspace alone.
    """
    person = Person.objects.select_for_update(no_key=True).filter(pk=person_id).first()
    _lock_admins(actor)
    actor = access.deciding(actor)
    access.require(actor, Role.ADMIN, "deactivate people")
    _membership(actor, person_id)
    assert person is not None, "a membership has its person"
    if not person.is_active:
        raise Refusal("wrong_state", f"{person.username} is deactivated already.", details={"state": "deactivated"})
    # Their membership rows are what a decision locks; taking them here makes a decision under way end first.
    list(Membership.objects.select_for_update().filter(person=person).order_by("pk").values_list("pk", flat=True))
    _refuse_last_admin(actor, person_id)
    now = database_now()
    tokens_here = PersonalToken.objects.filter(person=person, revoked_at__isnull=True)
    stays_elsewhere = _belongs_to_others(person, actor)
    if stays_elsewhere:
        tokens_here.filter(workspace_id=actor.workspace_id).update(revoked_at=now)
        Membership.objects.filter(person=person, workspace_id=actor.workspace_id).delete()
    else:
        person.is_active = False
        person.save(update_fields=["is_active"])
        tokens_here.update(revoked_at=now)
        end_sessions(person)
    audit.record(
        "person.taken_out" if stays_elsewhere else "person.deactivated",
        subject=("person", person.pk),
        actor=actor,
        at=now,
        details={"username": person.username, "reason": reason},
    )
    return person


def _refuse_others_person(person: Person, actor: Actor, what: str) -> None:
    if _belongs_to_others(person, actor):
        raise Refusal(
            "not_allowed",
            f"{person.username} belongs to another workspace too, where you are no admin, and cannot be {what} from here. "
            "Ask an admin of that one.",
        )


@transaction.atomic
def reactivate_person(*, person_id: int, actor: Actor) -> Person:
    """Lets a deactivated person sign in again; their old sessions and tokens stay ended."""
    actor = access.deciding(actor)
    access.require(actor, Role.ADMIN, "let people back in")
    membership = _membership(actor, person_id)
    person = membership.person
    if person.is_active:
        raise Refusal("wrong_state", f"{person.username} is active already.", details={"state": "active"})
    _refuse_others_person(person, actor, "let back in")
    person.is_active = True
    person.save(update_fields=["is_active"])
    audit.record(
        "person.reactivated",
        subject=("person", person.pk),
        actor=actor,
        at=database_now(),
        details={"username": person.username},
    )
    return person


def end_sessions(person: Person, *, but: str | None = None) -> int:
    """Ends every session of this person, except the one with the key `but`."""
    ended = 0
    for session in Session.objects.filter(expire_date__gt=database_now()).iterator():
        if str(session.get_decoded().get("_auth_user_id")) == str(person.pk) and session.session_key != but:
            session.delete()
            ended += 1
    return ended


@transaction.atomic
def change_password(*, person: Person, new_password: str, workspaces: Iterable[Workspace]) -> Person:
    """Stores a password of the person's own choosing and ends the one-time one."""
    person = Person.objects.select_for_update().get(pk=person.pk)
    try:
        validate_password(new_password, person)
    except ValidationError as problem:
        raise Refusal("weak_password", " ".join(problem.messages), place="new_password1") from None
    if person.check_password(new_password):
        raise Refusal("weak_password", "That is the password you have now; choose another.", place="new_password1")
    now = database_now()
    person.set_password(new_password)
    person.must_change_password = False
    person.save(update_fields=["password", "must_change_password"])
    for workspace in workspaces:
        audit.record(
            "person.password_changed",
            subject=("person", person.pk),
            actor=Actor(person, workspace, frozenset(), "page"),
            at=now,
            details={"username": person.username},
        )
    return person


@transaction.atomic
def reset_password(*, person_id: int, actor: Actor | Shell) -> str:
    """A new one-time password for somebody who lost theirs; their sessions end."""
    if isinstance(actor, Actor):
        actor = access.deciding(actor)
        access.require(actor, Role.ADMIN, "reset passwords")
    membership = _membership(actor, person_id)
    person = membership.person
    if isinstance(actor, Actor):
        _refuse_others_person(person, actor, "given a new password")
    password = tokens.one_time_password()
    person.set_password(password)
    person.must_change_password = True
    person.save(update_fields=["password", "must_change_password"])
    end_sessions(person)
    audit.record(
        "person.password_reset",
        subject=("person", person.pk),
        actor=actor,
        at=database_now(),
        details={"username": person.username},
    )
    return password


@transaction.atomic
def create_personal_token(
    *,
    person: Person,
    scope: str,
    lives: timedelta,
    actor: Actor | Shell,
    name: str = "",
) -> NewToken:
    """A token that speaks for one person in one workspace; shown once."""
    if scope not in TOKEN_SCOPES:
        raise Refusal("bad_scope", f"{scope!r} is no scope; say {', '.join(TOKEN_SCOPES)}.", place="scope")
    workspace = actor.workspace
    if not Workspace.objects.values_list("personal_tokens_allowed", flat=True).get(pk=workspace.pk):
        raise Refusal("not_allowed", "Personal tokens are forbidden in this workspace; an admin may allow them.")
    membership = _membership(actor, person.pk)
    if not membership.person.is_active:
        raise Refusal("not_allowed", f"{person.username} is deactivated, so no token can speak for them.")
    if isinstance(actor, Actor) and actor.person.pk != person.pk:
        raise Refusal("not_allowed", "A token speaks for a person, so only they make it for themselves.")
    if not timedelta(0) < lives <= LONGEST_PERSONAL_TOKEN:
        raise Refusal("bad_lifetime", "A personal token lives at most 24 hours; choose one day or less.", place="days")
    now = database_now()
    token, token_hash = tokens.new_token(tokens.PERSONAL_PREFIX)
    row = PersonalToken.objects.create(
        person=person,
        workspace=workspace,
        name=name or f"{scope} token of {person.username}",
        scope=scope,
        token_hash=token_hash,
        created_at=now,
        expires_at=now + lives,
    )
    audit.record(
        "personal_token.created",
        subject=("personal_token", row.pk),
        actor=actor,
        at=now,
        details={"for": person.username, "scope": scope, "expires_at": row.expires_at.isoformat(), "name": row.name},
    )
    outbox.tell("personal_token.created", workspace_id=workspace.pk, subject=("personal_token", row.pk), at=now)
    return NewToken(row, token)


@transaction.atomic
def revoke_personal_token(*, token_id: int, actor: Actor) -> PersonalToken:
    """Ends a token at once: its own person may, and an admin."""
    actor = access.deciding(actor)
    row = (
        PersonalToken.objects.select_for_update(of=("self",))
        .select_related("person")
        .filter(pk=token_id, workspace_id=actor.workspace_id)
        .first()
    )
    if row is None or (row.person_id != actor.person_id and Role.ADMIN not in actor.roles):
        raise Refusal("not_found", "There is no such token here. Look at the list again.")
    if row.revoked_at is not None:
        raise Refusal("wrong_state", "This token is revoked already.", details={"state": "revoked"})
    now: datetime = database_now()
    row.revoked_at = now
    row.save(update_fields=["revoked_at"])
    audit.record(
        "personal_token.revoked",
        subject=("personal_token", row.pk),
        actor=actor,
        at=now,
        details={"of": row.person.username, "name": row.name},
    )
    return row


@transaction.atomic
def note_sign_in(*, person: Person, signed_in: bool) -> None:
    """Writes a sign-in or sign-out into the audit trail of each workspace the person belongs to."""
    now = database_now()
    for membership in access.workspaces_of(person):
        audit.record(
            "person.signed_in" if signed_in else "person.signed_out",
            subject=("person", person.pk),
            actor=Actor(person, membership.workspace, frozenset(), "page"),
            at=now,
            details={"username": person.username},
        )
