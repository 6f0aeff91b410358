"""Holding a case: one person at a time, and for as long as they are at it."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.db.models import F

from salvor_admin.audit.models import Entry
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role, Scope
from salvor_admin.ledger.models import Intent
from salvor_admin.outbox.models import Message
from salvor_admin.people.access import Actor
from salvor_admin.settlement import services
from salvor_admin.settlement.models import Case, Claim
from tests.people.factories import Cast
from tests.settlement.factories import OUTPUT, a_tool, a_waiting_call

pytestmark = pytest.mark.django_db


@pytest.fixture
def call(cast: Cast) -> Intent:
    a_tool(cast)
    return a_waiting_call(cast)


@pytest.fixture
def bo(cast: Cast) -> Actor:
    cast.roles = {**cast.roles, "bo": ["settler"]}
    return cast.actor("bo")


def actions() -> list[str]:
    return [action for action in Entry.objects.order_by("number").values_list("action", flat=True) if "case." in action]


def lapse(intent: Intent) -> None:
    """As if the claim had been taken a day earlier."""
    day = timedelta(days=1)
    Claim.objects.filter(case__intent=intent).update(claimed_at=F("claimed_at") - day, lapses_at=F("lapses_at") - day)


def refused(code: str, verb: object, **arguments: object) -> Refusal:
    before = (list(Claim.objects.values().order_by("pk")), list(Case.objects.values()), actions())
    with pytest.raises(Refusal) as caught:
        verb(**arguments)  # type: ignore[operator]
    assert caught.value.code == code
    assert (list(Claim.objects.values().order_by("pk")), list(Case.objects.values()), actions()) == before
    return caught.value


def test_a_settler_claims_a_call_for_the_workspaces_time(call: Intent, noor: Actor) -> None:
    claim = services.claim_case(intent_id=call.pk, actor=noor)
    case = Case.objects.get(intent=call)
    assert (case.number, case.state, claim.person_id) == (1, "claimed", noor.person_id)
    assert claim.lapses_at - claim.claimed_at == timedelta(minutes=15)
    assert actions() == ["case.claimed"]
    assert Message.objects.filter(topic="case.claimed", subject_id=str(case.pk)).count() == 1


def test_claiming_again_keeps_the_claim_for_longer(call: Intent, noor: Actor) -> None:
    first = services.claim_case(intent_id=call.pk, actor=noor)
    second = services.claim_case(intent_id=call.pk, actor=noor)
    assert second.pk == first.pk and second.lapses_at > first.lapses_at
    assert actions() == ["case.claimed"]


def test_a_held_case_is_refused_to_others_by_the_holders_name(call: Intent, noor: Actor, bo: Actor) -> None:
    services.claim_case(intent_id=call.pk, actor=noor)
    refusal = refused("wrong_state", services.claim_case, intent_id=call.pk, actor=bo)
    assert "Noor Haddad holds" in refusal.message
    assert refusal.details == {"state": "claimed", "holder": "Noor Haddad"}


def test_a_lapsed_claim_is_taken_over_and_the_audit_says_from_whom(call: Intent, noor: Actor, bo: Actor) -> None:
    services.claim_case(intent_id=call.pk, actor=noor)
    lapse(call)
    services.claim_case(intent_id=call.pk, actor=bo)
    assert list(Claim.objects.order_by("pk").values_list("person__username", "how")) == [("noor", "lapsed"), ("bo", "")]
    assert '"taken_over_from":"noor"' in Entry.objects.order_by("-number")[0].text


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.SETTLER])
def test_only_a_settler_claims(call: Intent, cast: Cast, role: Role) -> None:
    cast.roles = {**cast.roles, "eve": [role.value]}
    refused("not_allowed", services.claim_case, intent_id=call.pk, actor=cast.actor("eve"))


def test_a_token_that_only_drafts_claims_nothing(call: Intent, noor: Actor) -> None:
    drafting = Actor(noor.person, noor.workspace, noor.roles, via="api", scope=Scope.DRAFT)
    refused("not_allowed", services.claim_case, intent_id=call.pk, actor=drafting)


def test_another_workspaces_call_looks_missing(call: Intent, kim: Actor) -> None:
    refused("not_found", services.claim_case, intent_id=call.pk, actor=kim)
    refused("not_found", services.claim_case, intent_id=uuid.uuid4(), actor=kim)


def test_a_closed_call_is_not_claimed(call: Intent, noor: Actor, bo: Actor) -> None:
    services.settle_call(intent_id=call.pk, actor=noor, outcome=services.Outcome.LANDED, output=OUTPUT, reason="Seen.")
    refusal = refused("wrong_state", services.claim_case, intent_id=call.pk, actor=bo)
    assert refusal.details["by"] == "Noor Haddad"


def test_activity_extends_the_claim(call: Intent, noor: Actor) -> None:
    claim = services.claim_case(intent_id=call.pk, actor=noor)
    extended = services.extend_claim(intent_id=call.pk, actor=noor, claim_id=claim.pk)
    assert extended.lapses_at > claim.lapses_at
    assert actions() == ["case.claimed"]


def test_a_lapsed_claim_is_not_extended_though_nobody_took_the_case(call: Intent, noor: Actor) -> None:
    claim = services.claim_case(intent_id=call.pk, actor=noor)
    lapse(call)
    refusal = refused("wrong_state", services.extend_claim, intent_id=call.pk, actor=noor, claim_id=claim.pk)
    assert "nobody holds the case now" in refusal.message


def test_a_sleeping_laptop_does_not_extend_a_claim_that_was_taken_over(call: Intent, noor: Actor, bo: Actor) -> None:
    claim = services.claim_case(intent_id=call.pk, actor=noor)
    lapse(call)
    services.claim_case(intent_id=call.pk, actor=bo)
    refusal = refused("wrong_state", services.extend_claim, intent_id=call.pk, actor=noor, claim_id=claim.pk)
    assert refusal.details["holder"] == "bo"


def test_the_holder_releases_the_case(call: Intent, noor: Actor) -> None:
    services.claim_case(intent_id=call.pk, actor=noor)
    services.release_case(intent_id=call.pk, actor=noor)
    assert Case.objects.get(intent=call).state == "waiting"
    assert Claim.objects.get().how == "released"
    assert actions() == ["case.claimed", "case.released"]


def test_nobody_else_releases_it(call: Intent, noor: Actor, bo: Actor) -> None:
    refused("wrong_state", services.release_case, intent_id=call.pk, actor=bo)
    services.claim_case(intent_id=call.pk, actor=noor)
    refused("wrong_state", services.release_case, intent_id=call.pk, actor=bo)
    lapse(call)
    refused("wrong_state", services.release_case, intent_id=call.pk, actor=noor)


def test_the_holder_hands_the_case_over(call: Intent, noor: Actor, bo: Actor) -> None:
    services.claim_case(intent_id=call.pk, actor=noor)
    claim = services.hand_over_case(intent_id=call.pk, actor=noor, to="bo")
    assert claim.person_id == bo.person_id
    assert Claim.objects.filter(ended_at__isnull=True).count() == 1
    assert actions() == ["case.claimed", "case.handed_over"]


def test_a_case_is_handed_only_to_another_settler_and_only_by_its_holder(
    call: Intent, noor: Actor, bo: Actor, ada: Actor, kim: Actor
) -> None:
    services.claim_case(intent_id=call.pk, actor=noor)
    for stranger in ("ada", "kim", "nobody", "", "b\0o"):
        refused("bad_request", services.hand_over_case, intent_id=call.pk, actor=noor, to=stranger)
    refused("bad_request", services.hand_over_case, intent_id=call.pk, actor=noor, to="noor")
    refused("wrong_state", services.hand_over_case, intent_id=call.pk, actor=bo, to="noor")
