"""People, roles and tokens through their services."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from salvor_admin.audit.models import Entry
from salvor_admin.domain.refusals import Refusal
from salvor_admin.people import services
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Membership, Person, PersonalToken, Workspace
from salvor_admin.people.tokens import token_hash
from tests.people.factories import PASSWORD

pytestmark = pytest.mark.django_db


def standing() -> tuple[Any, ...]:
    return (
        list(Person.objects.order_by("pk").values_list("username", "is_active", "password")),
        list(Membership.objects.order_by("pk").values_list("person_id", "roles")),
        list(PersonalToken.objects.order_by("pk").values_list("pk", "revoked_at")),
        Workspace.objects.count(),
        Entry.objects.count(),
    )


def refused(act: Callable[[], object]) -> Refusal:
    before = standing()
    with pytest.raises(Refusal) as caught:
        act()
    assert standing() == before
    return caught.value


@pytest.mark.parametrize("key", ["", "Payments", "a b", "-a", "a--b", "a_b", "x" * 61, "é"])
def test_a_workspace_key_that_is_none_is_refused(key: str, db: None) -> None:
    assert refused(lambda: services.create_workspace(key=key)).code == "bad_name"


def test_a_workspace_key_is_given_once(workspace: Workspace) -> None:
    assert refused(lambda: services.create_workspace(key=workspace.key)).code == "workspace_exists"


def test_a_new_person_gets_a_one_time_password_that_must_be_changed(root: Actor) -> None:
    made = services.create_person(username="bo", roles=["settler"], actor=root)
    assert made.one_time_password is not None
    assert made.person.check_password(made.one_time_password) and made.person.must_change_password
    assert Entry.objects.get(action="person.created", subject_id=str(made.person.pk)).actor_name == "root"


def test_the_password_stands_nowhere_in_the_trail(root: Actor) -> None:
    made = services.create_person(username="bo", roles=["settler"], actor=root)
    assert made.one_time_password and not Entry.objects.filter(text__contains=made.one_time_password).exists()


def test_only_an_admin_adds_people(grace: Actor, root: Actor) -> None:
    assert refused(lambda: services.create_person(username="bo", roles=[], actor=grace)).code == "not_allowed"


def test_a_name_that_differs_in_case_alone_is_the_same_person(ada: Actor, root: Actor) -> None:
    assert refused(lambda: services.create_person(username="ADA", roles=[], actor=root)).code == "person_exists"


@pytest.mark.parametrize("name", ["Grace\u200b Okafor", "Root\u202e", "a\0b", "x" * 121])
def test_a_full_name_that_cannot_be_seen_as_it_is_is_refused(root: Actor, name: str) -> None:
    refusal = refused(lambda: services.create_person(username="bo", name=name, roles=[], actor=root))
    assert (refusal.code, refusal.place) == ("bad_name", "name")


def test_a_full_name_stands_on_one_line(root: Actor) -> None:
    made = services.create_person(username="bo", name=" Bo\r\n  Berg ", roles=[], actor=root)
    assert made.person.name == "Bo Berg"


def test_a_role_nobody_knows_is_refused_by_name(root: Actor) -> None:
    refusal = refused(lambda: services.create_person(username="bo", roles=["boss"], actor=root))
    assert (refusal.code, "boss" in refusal.message) == ("unknown_role", True)


def test_roles_hold_from_the_next_decision_on(noor: Actor, root: Actor) -> None:
    services.change_roles(person_id=noor.person_id, roles=["viewer"], actor=root)
    assert Membership.objects.get(person=noor.person).roles == ["viewer"]
    assert Entry.objects.filter(action="person.roles_changed").count() == 1


def test_the_last_admin_stays_one(root: Actor) -> None:
    assert refused(lambda: services.change_roles(person_id=root.person_id, roles=[], actor=root)).code == "last_admin"
    assert (
        refused(lambda: services.deactivate_person(person_id=root.person_id, reason="x", actor=root)).code
        == "last_admin"
    )


def test_a_deactivated_person_loses_sessions_and_tokens_at_once(noor: Actor, root: Actor) -> None:
    client = Client()
    assert client.login(username="noor", password=PASSWORD)
    made = services.create_personal_token(person=noor.person, scope="read", lives=timedelta(hours=1), actor=noor)
    services.deactivate_person(person_id=noor.person_id, reason="left", actor=root)
    assert client.get(f"/w/{noor.workspace_key}/people/").status_code == 302
    assert PersonalToken.objects.get(pk=made.row.pk).revoked_at is not None
    assert not [s for s in Session.objects.all() if s.get_decoded().get("_auth_user_id") == str(noor.person_id)]


def test_somebody_let_back_in_keeps_no_old_token(noor: Actor, root: Actor) -> None:
    made = services.create_personal_token(person=noor.person, scope="read", lives=timedelta(hours=1), actor=noor)
    services.deactivate_person(person_id=noor.person_id, reason="left", actor=root)
    services.reactivate_person(person_id=noor.person_id, actor=root)
    assert Person.objects.get(pk=noor.person_id).is_active
    assert PersonalToken.objects.get(pk=made.row.pk).revoked_at is not None


def test_another_workspaces_person_is_not_there(kim: Actor, noor: Actor) -> None:
    assert (
        refused(lambda: services.deactivate_person(person_id=noor.person_id, reason="x", actor=kim)).code == "not_found"
    )


def test_an_admin_ends_the_access_to_their_own_workspace_alone(noor: Actor, root: Actor, kim: Actor) -> None:
    """Kim, an admin elsewhere, takes Noor in and deactivates her: nothing of it reaches Noor's own workspace."""
    services.create_person(username="noor", roles=["settler"], actor=kim)
    here = services.create_personal_token(person=noor.person, scope="read", lives=timedelta(hours=1), actor=noor)
    there = services.create_personal_token(
        person=noor.person, scope="read", lives=timedelta(hours=1), actor=services.Shell(kim.workspace)
    )
    client = Client()
    assert client.login(username="noor", password=PASSWORD)
    services.deactivate_person(person_id=noor.person_id, reason="mine now", actor=kim)
    assert client.get(f"/w/{noor.workspace_key}/people/").status_code == 200
    assert client.get(f"/w/{kim.workspace_key}/people/").status_code == 404
    revoked = {row.pk: row.revoked_at is not None for row in PersonalToken.objects.all()}
    assert revoked == {here.row.pk: False, there.row.pk: True}
    assert Entry.objects.get(action="person.taken_out").workspace_id == kim.workspace_id
    refusal = refused(lambda: services.deactivate_person(person_id=noor.person_id, reason="x", actor=kim))
    assert refusal.code == "not_found"


def test_somebody_deactivated_is_neither_added_nor_let_in_from_elsewhere(noor: Actor, root: Actor, kim: Actor) -> None:
    services.create_person(username="noor", roles=[], actor=kim)
    Person.objects.filter(pk=noor.person_id).update(is_active=False)
    for act in (
        lambda: services.reactivate_person(person_id=noor.person_id, actor=kim),
        lambda: services.reset_password(person_id=noor.person_id, actor=kim),
    ):
        assert refused(act).code == "not_allowed"
    Membership.objects.filter(person=noor.person, workspace=kim.workspace).delete()
    assert refused(lambda: services.create_person(username="noor", roles=[], actor=kim)).code == "wrong_state"


def test_a_token_is_stored_as_a_hash_alone(ada: Actor) -> None:
    made = services.create_personal_token(person=ada.person, scope="draft", lives=timedelta(hours=1), actor=ada)
    row = PersonalToken.objects.get()
    assert bytes(row.token_hash) == token_hash(made.token)
    assert made.token not in str(row.__dict__) and made.token.startswith("spt_")


@pytest.mark.parametrize("lives", [timedelta(0), timedelta(hours=-1), timedelta(days=1, seconds=1), timedelta(days=30)])
def test_a_personal_token_lives_at_most_a_day(lives: timedelta, ada: Actor) -> None:
    refusal = refused(lambda: services.create_personal_token(person=ada.person, scope="read", lives=lives, actor=ada))
    assert refusal.code == "bad_lifetime"


def test_a_workspace_may_forbid_personal_tokens(ada: Actor) -> None:
    Workspace.objects.filter(pk=ada.workspace_id).update(personal_tokens_allowed=False)
    refusal = refused(
        lambda: services.create_personal_token(person=ada.person, scope="read", lives=timedelta(hours=1), actor=ada)
    )
    assert refusal.code == "not_allowed"


def test_nobody_makes_a_token_for_somebody_else(ada: Actor, root: Actor) -> None:
    refusal = refused(
        lambda: services.create_personal_token(person=ada.person, scope="read", lives=timedelta(hours=1), actor=root)
    )
    assert refusal.code == "not_allowed"


def test_a_token_is_revoked_once(ada: Actor) -> None:
    made = services.create_personal_token(person=ada.person, scope="read", lives=timedelta(hours=1), actor=ada)
    services.revoke_personal_token(token_id=made.row.pk, actor=ada)
    assert refused(lambda: services.revoke_personal_token(token_id=made.row.pk, actor=ada)).code == "wrong_state"


def test_a_weak_password_is_refused_and_the_old_one_stays(ada: Actor) -> None:
    refusal = refused(lambda: services.change_password(person=ada.person, new_password="password", workspaces=[]))
    assert refusal.code == "weak_password"


def test_a_new_password_ends_the_one_time_one(root: Actor) -> None:
    made = services.create_person(username="bo", roles=["settler"], actor=root)
    services.change_password(person=made.person, new_password="quiet horses at dawn", workspaces=[root.workspace])
    person = Person.objects.get(pk=made.person.pk)
    assert made.one_time_password and not person.check_password(made.one_time_password)
    assert not person.must_change_password
