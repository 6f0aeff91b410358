"""Writes about people, several at once: one wins, the others are told."""

from __future__ import annotations

from datetime import timedelta

import pytest

from salvor_admin.audit import selectors as audit
from salvor_admin.domain.refusals import Refusal
from salvor_admin.people import services
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Membership, Person, PersonalToken, Workspace
from tests.people.factories import Cast
from tests.races import ROUNDS, THREADS, at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.races]


def refusals(results: list[object]) -> list[str]:
    """The codes of those that were refused; anything else that was raised is a mistake of ours."""
    unexpected = [each for each in results if isinstance(each, Exception) and not isinstance(each, Refusal)]
    assert unexpected == []
    return [each.code for each in results if isinstance(each, Refusal)]


def test_one_of_many_makes_the_person(root: Actor) -> None:
    for number in range(ROUNDS):
        results = at_once(
            *[lambda number=number: services.create_person(username=f"bo{number}", roles=[], actor=root)] * THREADS
        )
        assert refusals(list(results)) == ["person_exists"] * (THREADS - 1)
    assert Person.objects.filter(username__startswith="bo").count() == ROUNDS


def test_one_of_many_makes_the_workspace(db: None) -> None:
    for number in range(ROUNDS):
        results = at_once(*[lambda number=number: services.create_workspace(key=f"team-{number}")] * THREADS)
        assert refusals(list(results)) == ["workspace_exists"] * (THREADS - 1)


def test_two_admins_who_take_each_others_role_leave_one(workspace: Workspace) -> None:
    for number in range(ROUNDS):
        pair = Cast(workspace, {f"first{number}": ["admin"], f"second{number}": ["admin"]})
        first, second = pair.actor(f"first{number}"), pair.actor(f"second{number}")
        results = at_once(
            lambda first=first, second=second: services.change_roles(person_id=second.person_id, roles=[], actor=first),
            lambda first=first, second=second: services.change_roles(person_id=first.person_id, roles=[], actor=second),
        )
        assert refusals(list(results)) == ["not_allowed"]
        left = Membership.objects.filter(workspace=workspace, roles__contains=["admin"])
        assert left.count() == 1
        left.update(roles=[])


def test_two_admins_who_deactivate_each_other_leave_one(workspace: Workspace) -> None:
    pair = Cast(workspace, {"first": ["admin"], "second": ["admin"]})
    first, second = pair.actor("first"), pair.actor("second")
    results = at_once(
        lambda: services.deactivate_person(person_id=second.person_id, reason="x", actor=first),
        lambda: services.deactivate_person(person_id=first.person_id, reason="x", actor=second),
    )
    assert refusals(list(results)) == ["not_allowed"]
    assert Person.objects.filter(username__in=["first", "second"], is_active=True).count() == 1


def test_a_token_is_revoked_by_one_of_many(ada: Actor) -> None:
    for _ in range(ROUNDS):
        row = services.create_personal_token(person=ada.person, scope="read", lives=timedelta(hours=1), actor=ada).row
        results = at_once(*[lambda row=row: services.revoke_personal_token(token_id=row.pk, actor=ada)] * THREADS)
        assert refusals(list(results)) == ["wrong_state"] * (THREADS - 1)
    assert not PersonalToken.objects.filter(revoked_at__isnull=True).exists()


def test_the_chain_stays_whole_under_many_writers(ada: Actor, root: Actor) -> None:
    def make(actor: Actor) -> object:
        return services.create_personal_token(person=actor.person, scope="read", lives=timedelta(hours=1), actor=actor)

    for _ in range(ROUNDS):
        assert refusals(list(at_once(*[lambda: make(ada), lambda: make(root)] * (THREADS // 2)))) == []
    assert audit.verdict(ada.workspace_id, ada.workspace_key).broken is None
