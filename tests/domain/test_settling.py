"""Claims, lapses and answers as plain rules: who may, until when, and what the others are told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from salvor_admin.domain import settling
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.settling import CaseState, ClaimFacts, Closed

NOW = datetime(2026, 3, 12, 14, 33, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINE, THEIRS = 1, 2


def claim(holder: int, lapses_in: timedelta, claim_id: int = 7) -> ClaimFacts:
    return ClaimFacts(holder, {MINE: "Noor Haddad", THEIRS: "Bo Berg"}[holder], NOW + lapses_in, claim_id)


CLAIMS: dict[str, ClaimFacts | None] = {
    "nobody": None,
    "mine": claim(MINE, HOUR),
    "mine, lapsed": claim(MINE, -HOUR),
    "mine, lapsing now": claim(MINE, timedelta(0)),
    "theirs": claim(THEIRS, HOUR),
    "theirs, lapsed": claim(THEIRS, -HOUR),
}

VERBS: dict[str, Any] = {
    "claim": lambda held: settling.decide_claim(held, person_id=MINE, closed=None, now=NOW, hold_for=HOUR),
    "extend": lambda held: settling.decide_extension(held, person_id=MINE, claim_id=7, now=NOW, hold_for=HOUR),
    "extend another": lambda held: settling.decide_extension(held, person_id=MINE, claim_id=6, now=NOW, hold_for=HOUR),
    "release": lambda held: settling.decide_release(held, person_id=MINE, now=NOW),
    "hand over": lambda held: settling.decide_hand_over(held, person_id=MINE, to_id=THEIRS, now=NOW),
    "answer": lambda held: settling.refuse_foreign(held, person_id=MINE, now=NOW, verb="settled"),
    "answer under it": lambda held: settling.refuse_lapsed(held, person_id=MINE, claim_id=7, now=NOW),
    "answer under another": lambda held: settling.refuse_lapsed(held, person_id=MINE, claim_id=6, now=NOW),
}

MAY = {
    "claim": {"nobody", "mine", "mine, lapsed", "mine, lapsing now", "theirs, lapsed"},
    "extend": {"mine"},
    "extend another": set[str](),
    "release": {"mine"},
    "hand over": {"mine"},
    "answer": {"nobody", "mine", "mine, lapsed", "mine, lapsing now", "theirs, lapsed"},
    "answer under it": {"mine"},
    "answer under another": set[str](),
}


@pytest.mark.parametrize("standing", CLAIMS)
@pytest.mark.parametrize("verb", VERBS)
def test_who_may_do_what_with_whose_claim(verb: str, standing: str) -> None:
    if standing in MAY[verb]:
        VERBS[verb](CLAIMS[standing])
        return
    with pytest.raises(Refusal) as caught:
        VERBS[verb](CLAIMS[standing])
    assert caught.value.code == "wrong_state"
    assert ("Bo Berg" in caught.value.message) is (standing == "theirs")


def test_a_claim_lasts_from_now_on() -> None:
    assert VERBS["claim"](None) == NOW + HOUR


def test_a_closed_call_is_told_by_state_person_and_time() -> None:
    closed = Closed(CaseState.SETTLED_LANDED, "Bo Berg", NOW)
    with pytest.raises(Refusal) as caught:
        settling.decide_claim(None, person_id=MINE, closed=closed, now=NOW, hold_for=HOUR)
    assert "settled landed already: Bo Berg was first on 12 March 2026, 14:33:10 UTC" in caught.value.message
    assert caught.value.details == {"state": "settled_landed", "by": "Bo Berg", "at": "2026-03-12T14:33:10+00:00"}


def test_nobody_hands_a_case_to_themselves() -> None:
    with pytest.raises(Refusal) as caught:
        settling.decide_hand_over(CLAIMS["mine"], person_id=MINE, to_id=MINE, now=NOW)
    assert (caught.value.code, caught.value.place) == ("bad_request", "to")


@pytest.mark.parametrize(
    ("standing", "stored", "is_held", "state"),
    [
        ("open", None, False, CaseState.WAITING),
        ("open", "waiting", True, CaseState.CLAIMED),
        ("open", "claimed", False, CaseState.WAITING),
        ("settled", "settled_failed", False, CaseState.SETTLED_FAILED),
        ("settled", None, False, CaseState.SETTLED_LANDED),
        ("completed", "claimed", True, CaseState.CLOSED_BY_CLIENT),
        ("completed", None, False, CaseState.CLOSED_BY_CLIENT),
        ("copied", None, False, CaseState.CLOSED_BY_CLIENT),
        ("abandoned", "waiting", False, CaseState.ABANDONED),
    ],
)
def test_a_case_follows_its_call_and_a_lapsed_claim_counts_as_none(
    standing: str, stored: str | None, is_held: bool, state: CaseState
) -> None:
    assert settling.state_of(standing, stored=stored, is_held=is_held) is state


@pytest.mark.parametrize(
    ("reason", "code", "place"),
    [
        ("", "", "reason"),
        (" \n", "", "reason"),
        ("x" * 4001, "", "reason"),
        ("a\0b", "", "reason"),
        ("x", "y", "reason_code"),
    ],
)
def test_a_reason_says_something_and_its_code_is_known(reason: str, code: str, place: str) -> None:
    with pytest.raises(Refusal) as caught:
        settling.decide_reason(reason, code, is_required=True)
    assert (caught.value.code, caught.value.place) == ("bad_request", place)


def test_where_no_reason_can_be_given_none_is_needed() -> None:
    assert settling.decide_reason(None, "", is_required=False) == ("", "")


@pytest.mark.parametrize("ahead", [timedelta(0), -HOUR, timedelta(days=91)])
def test_look_again_is_to_come_and_near(ahead: timedelta) -> None:
    with pytest.raises(Refusal) as caught:
        settling.decide_look_again(NOW + ahead, now=NOW)
    assert caught.value.place == "look_again_at"


def test_an_attached_driver_needs_a_word() -> None:
    settling.refuse_attached(driver="checkout-eu-2", is_accepted=True)
    with pytest.raises(Refusal) as caught:
        settling.refuse_attached(driver="checkout-eu-2", is_accepted=False)
    assert caught.value.details == {"driver": "attached"}
