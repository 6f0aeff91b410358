"""Several at once: of all who claim, answer, report and abandon one call, exactly one wins, and the others learn who."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from salvor_admin.audit.models import Entry
from salvor_admin.domain.ledger import Failure
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.settling import Outcome
from salvor_admin.ledger.models import Event, Intent, Report
from salvor_admin.people.access import Actor
from salvor_admin.settlement import evidence, services, tasks
from salvor_admin.settlement.models import Case, Claim, Settlement
from salvor_admin.wire import settling as wire
from tests.people.factories import Cast
from tests.races import ROUNDS, THREADS, at_once
from tests.settlement.factories import OUTPUT, Driver, a_driver, a_tool, a_waiting_call, the_runtime

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.races]


@pytest.fixture
def settlers(cast: Cast) -> list[Actor]:
    names = [f"settler{n}" for n in range(THREADS)]
    cast.roles = {**cast.roles, **{name: ["settler"] for name in names}}
    a_tool(cast)
    return [cast.actor(name) for name in names]


def settled(intent: Intent, actor: Actor) -> Settlement:
    return services.settle_call(
        intent_id=intent.pk, actor=actor, outcome=Outcome.LANDED, output=OUTPUT, reason="Seen at the provider."
    )


def failed(intent: Intent, actor: Actor) -> Settlement:
    return services.settle_call(
        intent_id=intent.pk, actor=actor, outcome=Outcome.FAILED, error=Failure("declined"), reason="Declined."
    )


def abandoned(intent: Intent, actor: Actor) -> Settlement:
    return services.abandon_call(intent_id=intent.pk, actor=actor, reason="Withdrawn.")


def resolved(intent: Intent, actor: Actor) -> None:
    wire.resolve(str(intent.run.run_id), OUTPUT, actor=actor)


def one_won(intent: Intent, results: list[Any]) -> list[Refusal]:
    """Exactly one answer stands, in log, settlement and audit trail alike; the refusals of the others."""
    refusals = [result for result in results if isinstance(result, Refusal)]
    assert [result for result in results if isinstance(result, Exception) and not isinstance(result, Refusal)] == []
    assert len(refusals) == len(results) - 1
    assert {refusal.code for refusal in refusals} == {"wrong_state"}
    assert Event.objects.filter(run=intent.run, seq__gt=intent.seq).count() == 1
    assert Settlement.objects.filter(case__intent=intent).count() <= 1
    answers = Entry.objects.filter(action__in=["case.settled", "case.abandoned"], text__contains=str(intent.pk))
    assert answers.count() == Settlement.objects.filter(case__intent=intent).count()
    assert Case.objects.filter(intent=intent).count() <= 1
    return refusals


def test_of_many_who_claim_one_call_one_holds_it(cast: Cast, settlers: list[Actor]) -> None:
    for _ in range(ROUNDS):
        call = a_waiting_call(cast)
        results = at_once(*[partial(services.claim_case, intent_id=call.pk, actor=actor) for actor in settlers])
        won = [result for result in results if isinstance(result, Claim)]
        refusals = [result for result in results if isinstance(result, Refusal)]
        assert (len(won), len(refusals)) == (1, THREADS - 1)
        assert {refusal.details["holder"] for refusal in refusals} == {won[0].person.username}
        assert Claim.objects.filter(case__intent=call, ended_at__isnull=True).count() == 1
        assert Case.objects.filter(intent=call).count() == 1


def test_of_many_who_settle_one_call_one_is_recorded_and_the_others_learn_who(
    cast: Cast, settlers: list[Actor]
) -> None:
    for _ in range(ROUNDS):
        call = a_waiting_call(cast)
        refusals = one_won(call, at_once(*[partial(settled, call, actor) for actor in settlers]))
        winner = Settlement.objects.get(case__intent=call)
        assert {refusal.details["by"] for refusal in refusals} == {winner.person.username}
        assert {refusal.details["at"] for refusal in refusals} == {winner.settled_at.isoformat()}


def test_of_one_person_who_presses_many_times_one_press_counts(cast: Cast, settlers: list[Actor]) -> None:
    for _ in range(ROUNDS):
        call = a_waiting_call(cast)
        one_won(call, at_once(*[partial(settled, call, settlers[0])] * THREADS))


def test_landed_failed_abandoned_and_v1_resolve_at_once_leave_one_answer(cast: Cast, settlers: list[Actor]) -> None:
    verbs = (settled, failed, abandoned, resolved)
    for _ in range(ROUNDS):
        call = a_waiting_call(cast)
        acts = [partial(verbs[place % len(verbs)], call, actor) for place, actor in enumerate(settlers)]
        one_won(call, at_once(*acts))


def test_a_settler_against_the_clients_own_late_report_leaves_one_completion(cast: Cast, settlers: list[Actor]) -> None:
    for _ in range(ROUNDS):
        driver = a_driver(the_runtime(cast))
        call = driver.ask()
        results = at_once(partial(settled, call, settlers[0]), partial(reported, driver))
        call.refresh_from_db()
        events = Event.objects.filter(run=call.run, seq__gt=call.seq)
        assert events.count() == 1
        by_person = '"settled_by":"operator"' in events.get().payload
        assert call.standing == ("settled" if by_person else "completed")
        assert isinstance(results[0], Settlement) is by_person
        if not by_person:
            assert isinstance(results[0], Refusal) and results[0].details["state"] == "closed_by_client"
        else:
            assert results[1] != "believed"


def reported(driver: Driver) -> str:
    """What the client learns of its report."""
    try:
        code = driver.report(OUTPUT)
    except Refusal as refusal:
        return refusal.code
    return code or "believed"


def test_claims_released_extended_and_handed_over_at_once_leave_at_most_one_holder(
    cast: Cast, settlers: list[Actor]
) -> None:
    holder, taker = settlers[0], settlers[1]
    for _ in range(ROUNDS):
        call = a_waiting_call(cast)
        claim = services.claim_case(intent_id=call.pk, actor=holder)
        acts: list[Any] = [
            partial(services.release_case, intent_id=call.pk, actor=holder),
            partial(services.hand_over_case, intent_id=call.pk, actor=holder, to=taker.person.username),
            partial(services.extend_claim, intent_id=call.pk, actor=holder, claim_id=claim.pk),
            partial(services.claim_case, intent_id=call.pk, actor=taker),
        ] * 2
        results = at_once(*acts)
        assert [result for result in results if isinstance(result, Exception) and not isinstance(result, Refusal)] == []
        open_claims = Claim.objects.filter(case__intent=call, ended_at__isnull=True)
        assert open_claims.count() <= 1
        assert (Case.objects.get(intent=call).state == "claimed") is open_claims.exists()


def test_notes_evidence_and_kept_texts_at_once_make_one_case_and_lose_nothing(
    cast: Cast, settlers: list[Actor]
) -> None:
    for round_number in range(ROUNDS):
        call = a_waiting_call(cast)
        acts: list[Any] = [partial(evidence.add_note, intent_id=call.pk, actor=actor, text="n") for actor in settlers]
        acts += [partial(evidence.add_evidence, intent_id=call.pk, actor=actor, text="e") for actor in settlers]
        acts += [partial(evidence.keep_text, intent_id=call.pk, actor=settlers[0], fields={"reason": "x"})] * 2
        results = at_once(*acts)
        assert [result for result in results if isinstance(result, Exception)] == []
        case = Case.objects.get(intent=call)
        assert case.number == round_number + 1
        assert (case.notes.count(), case.evidence.count(), case.kept_texts.count()) == (THREADS, THREADS, 1)


def test_sweeps_at_once_close_a_case_once(cast: Cast, settlers: list[Actor]) -> None:
    for _ in range(ROUNDS):
        driver = a_driver(the_runtime(cast))
        call = driver.ask()
        services.claim_case(intent_id=call.pk, actor=settlers[0])
        assert reported(driver) == "believed"
        assert sum(result for result in at_once(*[tasks.close_answered_cases] * 4) if isinstance(result, int)) == 1
    assert not Report.objects.exists()
