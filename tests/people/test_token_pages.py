"""Tokens and roles in pages: shown once, named, ending, revocable, with their last use."""

from __future__ import annotations

from datetime import timedelta

import pytest

from salvor_admin.domain.refusals import Refusal
from salvor_admin.people import services as people
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Membership, PersonalToken
from salvor_admin.reviews import publishing, selectors
from tests.api.callers import Caller
from tests.catalogue.pages import path, query_count, signed_in
from tests.reviews.factories import an_approved_change

pytestmark = pytest.mark.django_db


def made_in_page(actor: Actor, **fields: str) -> str:
    """The token that the page showed."""
    answer = signed_in(actor).post(
        path(actor, "people:create_token"), {"name": "ci", "scope": "read", "hours": "8", **fields}
    )
    assert answer.status_code == 201
    return str(answer.context["made"].token)


def test_a_token_is_in_the_answer_that_made_it_and_never_again(ada: Actor) -> None:
    browser = signed_in(ada)
    answer = browser.post(path(ada, "people:create_token"), {"name": "ci", "scope": "draft", "hours": "2"})
    token = answer.context["made"].token
    assert token in answer.content.decode() and token.startswith("spt_")
    later = browser.get(path(ada, "people:settings")).content.decode()
    assert token not in later and "ci" in later


def test_a_token_made_in_the_page_reads_until_it_is_revoked_there(ada: Actor) -> None:
    token = made_in_page(ada)
    assert Caller(token).get("/api/change-requests/").status_code == 200
    row = PersonalToken.objects.get()
    assert row.last_used_at is not None and row.expires_at > row.last_used_at
    signed_in(ada).post(path(ada, "people:revoke_token", token_id=row.pk))
    assert Caller(token).get("/api/change-requests/").status_code == 401
    assert "Revoked" in signed_in(ada).get(path(ada, "people:settings")).content.decode()


@pytest.mark.parametrize(
    "fields", [{"hours": "25"}, {"hours": "0"}, {"scope": "admin"}, {"name": ""}], ids=lambda fields: next(iter(fields))
)
def test_an_odd_token_is_refused_at_its_field_and_none_is_made(fields: dict[str, str], ada: Actor) -> None:
    answer = signed_in(ada).post(
        path(ada, "people:create_token"), {"name": "ci", "scope": "read", "hours": "8", **fields}
    )
    assert (answer.status_code, PersonalToken.objects.count()) == (422, 0)
    assert set(answer.context["form"].errors) == set(fields)


def test_nobody_revokes_anothers_token_in_the_page(ada: Actor, grace: Actor) -> None:
    made_in_page(ada)
    row = PersonalToken.objects.get()
    assert signed_in(grace).post(path(grace, "people:revoke_token", token_id=row.pk)).status_code in {403, 404}
    row.refresh_from_db()
    assert row.revoked_at is None


def test_the_settings_cost_the_same_for_one_token_and_for_ten(ada: Actor) -> None:
    where = path(ada, "people:settings")
    made_in_page(ada)
    one = query_count(ada, where)
    for number in range(9):
        people.create_personal_token(
            person=ada.person, scope="read", lives=timedelta(hours=1), name=f"t{number}", actor=ada
        )
    assert query_count(ada, where) == one


def test_roles_changed_in_the_page_hold_from_the_next_decision_on(
    ada: Actor, grace: Actor, pat: Actor, root: Actor
) -> None:
    request = an_approved_change(author=ada, reviewer=grace)
    answer = signed_in(root).post(
        path(root, "people:change_roles", person_id=pat.person_id), {"roles": ["reviewer", "viewer"]}
    )
    assert answer.status_code == 302
    assert sorted(Membership.objects.get(person=pat.person).roles) == ["reviewer", "viewer"]
    with pytest.raises(Refusal) as caught:
        publishing.publish(request_id=request.pk, actor=pat)
    assert caught.value.code == "not_allowed"


def test_who_is_deactivated_in_the_page_loses_session_token_and_standing_verdict_at_once(
    ada: Actor, grace: Actor, root: Actor
) -> None:
    request = an_approved_change(author=ada, reviewer=grace)
    browser, token = signed_in(grace), made_in_page(grace)
    assert browser.get(path(grace, "home:workspace")).status_code == 200
    signed_in(root).post(path(root, "people:deactivate", person_id=grace.person_id), {"reason": "Left the team."})
    assert browser.get(path(grace, "home:workspace")).status_code == 302
    assert Caller(token).get("/api/change-requests/").status_code == 401
    (standing,) = selectors.detail(request).facts.verdicts
    assert standing.person_may is False


def test_deactivating_needs_a_reason(grace: Actor, root: Actor) -> None:
    answer = signed_in(root).post(path(root, "people:deactivate", person_id=grace.person_id), {"reason": " "})
    grace.person.refresh_from_db()
    assert (answer.status_code, grace.person.is_active) == (422, True)
