"""The approval flow as a table: every state, every verb, every role, and authors barred from deciding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from salvor_admin.domain import review
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.review import ActorFacts, GivenVerdict, ItemFacts, RequestFacts, State, Transition, Verdict
from salvor_admin.domain.rights import Role

ADA, GRACE, PAT = 1, 2, 3
ITEM = ItemFacts(
    kind="client_tool",
    key="refund_card",
    action="set",
    revision_digest="sha256:r",
    base_digest="",
    base_is_live=True,
    authors=frozenset({ADA}),
    label="refund_card",
)
DIGEST = review.request_digest([ITEM])
APPROVAL = GivenVerdict(GRACE, "approve", DIGEST)


def request(state: State, **changes: object) -> RequestFacts:
    verdicts = (APPROVAL,) if state in {State.APPROVED, State.PUBLISHED} else ()
    facts = RequestFacts(state=state, digest=DIGEST, quorum=1, items=(ITEM,), verdicts=verdicts)
    return replace(facts, **changes)  # type: ignore[arg-type]


def person(pk: int, *roles: Role) -> ActorFacts:
    return ActorFacts(person_id=pk, name={1: "Ada", 2: "Grace", 3: "Pat"}.get(pk, "Bo"), roles=frozenset(roles))


Verb = Callable[[RequestFacts, ActorFacts], Transition]

VERBS: dict[str, tuple[Verb, Role, dict[State, State]]] = {
    "submit": (review.decide_submit, Role.AUTHOR, {State.DRAFT: State.IN_REVIEW}),
    "approve": (
        lambda r, a: review.decide_verdict(r, a, Verdict.APPROVE, digest=r.digest),
        Role.REVIEWER,
        {State.IN_REVIEW: State.APPROVED},
    ),
    "request changes": (
        lambda r, a: review.decide_verdict(r, a, Verdict.REQUEST_CHANGES, digest=r.digest),
        Role.REVIEWER,
        {State.IN_REVIEW: State.CHANGES_REQUESTED},
    ),
    "reject": (
        lambda r, a: review.decide_verdict(r, a, Verdict.REJECT, digest=r.digest),
        Role.REVIEWER,
        {State.IN_REVIEW: State.REJECTED},
    ),
    "publish": (lambda r, a: review.decide_publish(r, a), Role.PUBLISHER, {State.APPROVED: State.PUBLISHED}),
    "withdraw": (
        review.decide_withdraw,
        Role.AUTHOR,
        dict.fromkeys(
            [State.DRAFT, State.IN_REVIEW, State.APPROVED, State.CHANGES_REQUESTED, State.STALE], State.WITHDRAWN
        ),
    ),
    "revise": (
        review.decide_revise,
        Role.AUTHOR,
        dict.fromkeys(
            [State.DRAFT, State.IN_REVIEW, State.APPROVED, State.CHANGES_REQUESTED, State.STALE], State.DRAFT
        ),
    ),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("state", State)
def test_every_verb_moves_only_from_its_states(verb: str, state: State) -> None:
    act, role, moves = VERBS[verb]
    if state in moves:
        assert act(request(state), person(9, role)).state is moves[state]
        return
    with pytest.raises(Refusal) as refused:
        act(request(state), person(9, role))
    assert (refused.value.code, refused.value.details["state"]) == ("wrong_state", state.value)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("state", State)
def test_no_other_role_does_it_in_any_state(verb: str, role: Role, state: State) -> None:
    act, needed, _ = VERBS[verb]
    if role is needed:
        return
    with pytest.raises(Refusal) as refused:
        act(request(state), person(9, role))
    assert refused.value.code == "not_allowed"


@pytest.mark.parametrize("verb", ["approve", "request changes", "reject", "publish"])
@pytest.mark.parametrize("state", State)
def test_whoever_wrote_a_part_decides_in_no_state(verb: str, state: State) -> None:
    act, _, _ = VERBS[verb]
    with pytest.raises(Refusal) as refused:
        act(request(state), person(ADA, *Role))
    assert refused.value.code == "own_revision"


@pytest.mark.parametrize("verb", VERBS)
def test_somebody_deactivated_does_nothing(verb: str) -> None:
    act, role, moves = VERBS[verb]
    gone = replace(person(9, role), is_active=False)
    with pytest.raises(Refusal) as refused:
        act(request(next(iter(moves))), gone)
    assert refused.value.code == "not_allowed"


def test_a_verdict_on_another_digest_is_stale_and_says_the_present_one() -> None:
    with pytest.raises(Refusal) as refused:
        review.decide_verdict(
            request(State.IN_REVIEW), person(GRACE, Role.REVIEWER), Verdict.APPROVE, digest="sha256:old"
        )
    assert (refused.value.code, refused.value.details["digest"]) == ("stale_digest", DIGEST)


def test_one_person_gives_one_verdict_on_a_digest() -> None:
    waiting = request(State.IN_REVIEW, quorum=2, verdicts=(APPROVAL,))
    with pytest.raises(Refusal) as refused:
        review.decide_verdict(waiting, person(GRACE, Role.REVIEWER), Verdict.APPROVE, digest=DIGEST)
    assert refused.value.code == "verdict_given"


def test_a_quorum_of_two_needs_two() -> None:
    first = request(State.IN_REVIEW, quorum=2)
    assert (
        review.decide_verdict(first, person(GRACE, Role.REVIEWER), Verdict.APPROVE, digest=DIGEST).state
        is State.IN_REVIEW
    )
    second = request(State.IN_REVIEW, quorum=2, verdicts=(APPROVAL,))
    assert (
        review.decide_verdict(second, person(PAT, Role.REVIEWER), Verdict.APPROVE, digest=DIGEST).state
        is State.APPROVED
    )


@pytest.mark.parametrize(
    "given",
    [
        GivenVerdict(GRACE, "approve", "sha256:earlier"),
        GivenVerdict(GRACE, "approve", DIGEST, person_may=False),
        GivenVerdict(ADA, "approve", DIGEST),
        GivenVerdict(GRACE, "request_changes", DIGEST),
    ],
    ids=["an earlier digest", "no reviewer any more", "an author", "no approval"],
)
def test_an_approval_that_does_not_stand_publishes_nothing(given: GivenVerdict) -> None:
    with pytest.raises(Refusal) as refused:
        review.decide_publish(request(State.APPROVED, verdicts=(given,)), person(PAT, Role.PUBLISHER))
    assert refused.value.code == "quorum_missing"


def test_a_base_that_moved_publishes_nothing() -> None:
    moved = request(State.APPROVED, items=(replace(ITEM, base_is_live=False),))
    with pytest.raises(Refusal) as refused:
        review.decide_publish(moved, person(PAT, Role.PUBLISHER))
    assert refused.value.code == "stale_base"


def test_who_approved_may_publish() -> None:
    assert review.decide_publish(request(State.APPROVED), person(GRACE, Role.PUBLISHER)).state is State.PUBLISHED


def test_a_blocking_finding_stops_an_approval_until_it_is_acknowledged() -> None:
    blocked = request(State.IN_REVIEW, blocking=frozenset({"f1", "f2"}), acknowledged=frozenset({"f1"}))
    with pytest.raises(Refusal) as refused:
        review.decide_verdict(blocked, person(GRACE, Role.REVIEWER), Verdict.APPROVE, digest=DIGEST)
    assert (refused.value.code, refused.value.place) == ("finding_unacknowledged", "f2")


def test_a_blocking_finding_stops_no_rejection() -> None:
    blocked = request(State.IN_REVIEW, blocking=frozenset({"f1"}))
    assert (
        review.decide_verdict(blocked, person(GRACE, Role.REVIEWER), Verdict.REJECT, digest=DIGEST).state
        is State.REJECTED
    )


def test_the_digest_names_exactly_what_is_decided() -> None:
    variants = [
        ITEM,
        replace(ITEM, kind="grant"),
        replace(ITEM, key="other"),
        replace(ITEM, action="remove"),
        replace(ITEM, revision_digest="sha256:s"),
        replace(ITEM, base_digest="sha256:b"),
    ]
    assert len({review.request_digest([item]) for item in variants}) == len(variants)


def test_the_digest_does_not_depend_on_the_order_of_items() -> None:
    other = replace(ITEM, key="wire_payout")
    assert review.request_digest([ITEM, other]) == review.request_digest([other, ITEM])
