"""Who gets in: living tokens of living people and runtimes, judged by the database's clock."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from salvor_admin.people import services as people
from salvor_admin.people.access import Actor
from salvor_admin.people.models import PersonalToken, Workspace
from salvor_admin.runtimes import services as runtimes
from salvor_admin.runtimes.models import RuntimeToken
from salvor_admin.web.clock import database_now
from tests.api.callers import Caller, as_person, as_runtime, token_of, told
from tests.runtimes.factories import a_runtime, a_runtime_token

pytestmark = pytest.mark.django_db

LIST = "/api/change-requests/"
CATALOGUE = "/api/catalogue/"


def test_without_a_token_nobody_gets_in_and_the_answer_says_how(db: None) -> None:
    response = Caller(None).get(LIST)
    assert told(response) == (401, "unauthorized")
    assert response["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "header",
    [
        "Basic YWRhOnB3",
        "Bearer",
        "Bearer ",
        "Bearer x y",
        "Bearer spt_unknown",
        "Bearer srt_unknown",
        "spt_x",
        "Bearer " + "s" * 300,
    ],
)
def test_what_is_no_living_token_is_unauthorized(workspace: Workspace, header: str) -> None:
    assert told(Caller(None).get(LIST, Authorization=header)) == (401, "unauthorized")


def test_a_living_token_opens_the_door_in_any_case_of_the_scheme(ada: Actor) -> None:
    token = token_of(ada, "read")
    assert Caller(None).get(LIST, Authorization=f"bearer {token}").status_code == 200


def test_a_revoked_personal_token_is_dead_at_once(ada: Actor) -> None:
    caller = as_person(ada)
    people.revoke_personal_token(token_id=PersonalToken.objects.get().pk, actor=ada)
    response = caller.get(LIST)
    assert told(response) == (401, "unauthorized")
    assert "revoked" in response.json()["error"]["message"]


def test_an_expired_personal_token_is_dead_by_the_databases_clock(ada: Actor) -> None:
    caller = as_person(ada)
    now = database_now()
    PersonalToken.objects.update(created_at=now - timedelta(hours=2), expires_at=now - timedelta(seconds=1))
    response = caller.get(LIST)
    assert told(response) == (401, "unauthorized")
    assert "expired" in response.json()["error"]["message"]


def test_a_deactivated_persons_token_is_dead(ada: Actor, root: Actor) -> None:
    caller = as_person(ada)
    people.deactivate_person(person_id=ada.person_id, reason="Left.", actor=root)
    PersonalToken.objects.update(revoked_at=None)
    assert told(caller.get(LIST)) == (401, "unauthorized")


def test_a_token_is_dead_once_its_person_is_no_member_any_more(ada: Actor) -> None:
    caller = as_person(ada)
    ada.person.memberships.all().delete()
    assert told(caller.get(LIST)) == (401, "unauthorized")


def test_a_workspace_that_forbids_personal_tokens_ends_those_that_exist(ada: Actor) -> None:
    caller = as_person(ada)
    Workspace.objects.update(personal_tokens_allowed=False)
    assert told(caller.get(LIST)) == (401, "unauthorized")


def test_a_revoked_or_expired_runtime_token_and_a_runtime_switched_off_are_dead(root: Actor) -> None:
    runtime = a_runtime(admin=root)
    revoked, expired, off = (Caller(a_runtime_token(runtime=runtime)) for _ in range(3))
    rows = list(RuntimeToken.objects.order_by("pk"))
    runtimes.revoke_runtime_token(token_id=rows[0].pk, actor=root)
    RuntimeToken.objects.filter(pk=rows[1].pk).update(expires_at=database_now() - timedelta(seconds=1))
    assert off.get(CATALOGUE).status_code == 200
    runtimes.change_runtime(runtime_id=runtime.pk, actor=root, is_active=False)
    assert [told(caller.get(CATALOGUE)) for caller in (revoked, expired, off)] == [(401, "unauthorized")] * 3


def test_a_runtimes_token_does_not_read_what_people_review(root: Actor) -> None:
    assert told(as_runtime(a_runtime(admin=root)).get(LIST)) == (403, "not_allowed")


def test_a_token_is_found_by_one_statement(ada: Actor, django_assert_num_queries: Any) -> None:
    caller = as_person(ada, "read")
    caller.get(LIST)
    with django_assert_num_queries(2):  # the token; the list
        caller.get(LIST)


def test_the_last_use_is_noted_once_a_minute(ada: Actor, root: Actor, django_assert_num_queries: Any) -> None:
    person, runtime = as_person(ada), as_runtime(a_runtime(admin=root))
    for caller, model, path in ((person, PersonalToken, LIST), (runtime, RuntimeToken, CATALOGUE)):
        caller.get(path)
        first = model.objects.get().last_used_at  # type: ignore[attr-defined]
        assert first is not None
        caller.get(path)
        assert model.objects.get().last_used_at == first  # type: ignore[attr-defined]
        earlier = first - timedelta(seconds=61)
        model.objects.update(last_used_at=earlier)  # type: ignore[attr-defined]
        caller.get(path)
        assert model.objects.get().last_used_at > earlier  # type: ignore[attr-defined]


def test_a_refused_token_leaves_its_last_use_alone(ada: Actor) -> None:
    caller = as_person(ada)
    people.revoke_personal_token(token_id=PersonalToken.objects.get().pk, actor=ada)
    caller.get(LIST)
    assert PersonalToken.objects.get().last_used_at is None
