"""Who drives a run: the lease, the gate before every driving call, and opening."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.run_state import RunHead

DEFAULT_TTL_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Lease:
    """A run's lease as the database sees it at this moment."""

    is_callers: bool
    """The caller presented its token."""
    is_current: bool
    """It was presented less than its time to live ago."""
    lapses_in_seconds: int
    """Rounded up, never below 1."""


class Opening(StrEnum):
    CREATED = "created"
    """Nothing was known of the run: a fresh token, 201."""
    TAKEN = "taken"
    """The run was known and nobody holds it: a fresh token, 200; an old one is dead."""
    KEPT = "kept"
    """The caller holds the run: the same token, 200."""


def decide_gate(lease: Lease | None, *, run_id: str, presented: str | None) -> None:
    """Lets through only the driver (contract 6.0 step 4). A lapsed lease nobody else took still drives."""
    if lease is None:
        raise Refusal("unknown_run", f"Nobody has run {run_id} open. Open it with POST /v1/client-runs first.")
    if presented is None:
        raise Refusal(
            "missing_drive_token",
            "The x-drive-token header is missing. Send the drive_token that opening the run answered.",
        )
    if not lease.is_callers:
        raise Refusal(
            "invalid_drive_token",
            f"This is not the drive token that run {run_id} is held with. Open the run again to drive it.",
        )


def decide_release(lease: Lease | None, *, run_id: str) -> bool:
    """Whether there is a lease to drop; only its own token may (contract 6.2)."""
    if lease is None:
        return False
    if not lease.is_callers:
        raise Refusal(
            "invalid_drive_token",
            f"Run {run_id} is held with another drive token, so nothing was released. Only its holder can.",
        )
    return True


def decide_open(head: RunHead, lease: Lease | None, *, run_id: str) -> Opening:
    """How a run is opened (contract 6.1)."""
    if head.next_seq and not head.is_client_driven and lease is None:
        raise Refusal("run_exists", f"Run {run_id} is not driven by a client. Choose another run_id.")
    if lease is not None and lease.is_current and not head.is_terminal:
        if lease.is_callers:
            return Opening.KEPT
        raise Refusal(
            "lease_held",
            f"Run {run_id} is held by another driver, whose hold lapses in {lease.lapses_in_seconds}s unless it goes "
            "on. Wait for that, or present its drive token.",
            details={"lapses_in_seconds": lease.lapses_in_seconds},
        )
    return Opening.TAKEN if head.next_seq or lease is not None else Opening.CREATED
