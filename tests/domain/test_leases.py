"""Leases: contract 6.0, 6.1, 6.2 and 9; the open-* and lease-* transcripts."""

from __future__ import annotations

import pytest

from salvor_admin.domain import leases
from salvor_admin.domain.leases import Lease, Opening
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.run_state import RunHead, RunState

RUN = "90aeac1f-4257-55a2-9e6f-e1a7a76e7638"
FRESH = RunHead()
RUNNING = RunHead(next_seq=3, state=RunState.RUNNING, is_client_driven=True)
ENDED = RunHead(next_seq=3, state=RunState.COMPLETED, is_client_driven=True)
OWN = Lease(is_callers=True, is_current=True, lapses_in_seconds=60)
OTHERS = Lease(is_callers=False, is_current=True, lapses_in_seconds=41)
OWN_LAPSED = Lease(is_callers=True, is_current=False, lapses_in_seconds=1)
OTHERS_LAPSED = Lease(is_callers=False, is_current=False, lapses_in_seconds=1)


@pytest.mark.parametrize(
    ("head", "lease", "opening"),
    [
        (FRESH, None, Opening.CREATED),
        (FRESH, OTHERS_LAPSED, Opening.TAKEN),
        (FRESH, OWN, Opening.KEPT),
        (RUNNING, None, Opening.TAKEN),
        (RUNNING, OWN, Opening.KEPT),
        (RUNNING, OWN_LAPSED, Opening.TAKEN),
        (RUNNING, OTHERS_LAPSED, Opening.TAKEN),
        (ENDED, OWN, Opening.TAKEN),
        (ENDED, OTHERS, Opening.TAKEN),
    ],
)
def test_opening_depends_on_the_log_and_on_who_holds_the_run(head: RunHead, lease: Lease, opening: Opening) -> None:
    assert leases.decide_open(head, lease, run_id=RUN) is opening


@pytest.mark.parametrize("head", [FRESH, RUNNING])
def test_a_held_run_is_not_opened_by_another_who_is_told_when_the_hold_lapses(head: RunHead) -> None:
    with pytest.raises(Refusal) as refused:
        leases.decide_open(head, OTHERS, run_id=RUN)
    assert refused.value.code == "lease_held"
    assert refused.value.details == {"lapses_in_seconds": 41}
    assert RUN in refused.value.message
    assert "41s" in refused.value.message


def test_a_run_that_no_client_drives_is_not_opened() -> None:
    with pytest.raises(Refusal) as refused:
        leases.decide_open(RunHead(next_seq=1, state=RunState.RUNNING), None, run_id=RUN)
    assert refused.value.code == "run_exists"


@pytest.mark.parametrize(
    ("lease", "presented", "code"),
    [
        (None, None, "unknown_run"),
        (None, "dt_x", "unknown_run"),
        (OWN, None, "missing_drive_token"),
        (OTHERS, "dt_x", "invalid_drive_token"),
        (OTHERS, "", "invalid_drive_token"),
        (OTHERS_LAPSED, "dt_x", "invalid_drive_token"),
    ],
)
def test_the_gate_asks_for_a_lease_then_a_token_then_the_right_one(
    lease: Lease | None, presented: str | None, code: str
) -> None:
    with pytest.raises(Refusal) as refused:
        leases.decide_gate(lease, run_id=RUN, presented=presented)
    assert refused.value.code == code


@pytest.mark.parametrize("lease", [OWN, OWN_LAPSED])
def test_the_holders_token_drives_even_after_a_lapse(lease: Lease) -> None:
    leases.decide_gate(lease, run_id=RUN, presented="dt_own")


def test_only_its_own_token_releases_a_lease() -> None:
    assert leases.decide_release(None, run_id=RUN) is False
    assert leases.decide_release(OWN, run_id=RUN) is True
    assert leases.decide_release(OWN_LAPSED, run_id=RUN) is True
    for lease in (OTHERS, OTHERS_LAPSED):
        with pytest.raises(Refusal) as refused:
            leases.decide_release(lease, run_id=RUN)
        assert refused.value.code == "invalid_drive_token"
