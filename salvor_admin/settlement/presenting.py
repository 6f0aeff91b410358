"""Words and marks for calls: pages are told what to show, and decide nothing themselves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from salvor_admin.domain.comparison import Standing
from salvor_admin.domain.settling import CaseState, Outcome
from salvor_admin.settlement.detail import CallDetail
from salvor_admin.settlement.forms import REASONS
from salvor_admin.settlement.models import Claim, Settlement
from salvor_admin.settlement.selectors import CallFilter, CallRow
from salvor_admin.web import times


@dataclass(frozen=True, slots=True)
class Stamp:
    """A state as icon and word."""

    tone: str
    icon: str
    words: str


STAMPS: Final = {
    CaseState.WAITING: Stamp("warn", "unknown", "Unsettled"),
    CaseState.CLAIMED: Stamp("warn", "unknown", "Unsettled"),
    CaseState.SETTLED_LANDED: Stamp("ok", "check", "Settled: landed"),
    CaseState.SETTLED_FAILED: Stamp("ok", "check", "Settled: failed"),
    CaseState.ABANDONED: Stamp("quiet", "stop", "Run abandoned"),
    CaseState.CLOSED_BY_CLIENT: Stamp("ok", "runtime", "Closed by its client"),
}
STANDINGS: Final = {
    Standing.DIFFERS: Stamp("stop", "stop", "Differs"),
    Standing.EQUAL: Stamp("ok", "check", "Equal"),
    Standing.MISSING: Stamp("stop", "stop", "Missing"),
    Standing.UNFIT: Stamp("stop", "stop", "Does not fit"),
    Standing.FITS: Stamp("ok", "check", "Fits"),
    Standing.UNDECLARED: Stamp("quiet", "note", "Not declared"),
    Standing.UNSURE: Stamp("quiet", "unknown", "Not judged by itself"),
}
OUTCOMES: Final = {
    Outcome.LANDED.value: "landed",
    Outcome.FAILED.value: "failed",
    Outcome.WILL_NOT_HAPPEN.value: "will not happen",
    Outcome.STILL_UNKNOWN.value: "still unknown",
}
CLAIM_ENDS: Final = {
    "released": "Released",
    "lapsed": "Claim lapsed",
    "handed_over": "Handed over",
    "decided": "",
    "overtaken": "Overtaken: claim",
}
STATE_CHIPS: Final = (
    ("open", "All"),
    ("waiting", "Unclaimed"),
    ("claimed", "Claimed"),
    ("mine", "Mine"),
    ("overdue", "Overdue"),
    ("decided", "Answered"),
)


def stamp(row: CallRow) -> Stamp:
    """The state of a call."""
    return STAMPS[row.state]


def reason(settlement: Settlement) -> str:
    """The reason code in words."""
    return dict(REASONS).get(settlement.reason_code, "")


@dataclass(frozen=True, slots=True)
class RowNote:
    """What may change beside a row while somebody reads the list; always one line, so that nothing moves."""

    holder: Claim | None
    is_mine: bool
    left: str
    present: str
    closed: str


def row_note(row: CallRow, *, now: datetime) -> RowNote:
    looking = [presence.person.name or presence.person.username for presence in row.present]
    closed = ""
    if not row.is_open:
        by = row.settlement.person.name if row.settlement and row.settlement.outcome != "still_unknown" else ""
        closed = STAMPS[row.state].words + (f" by {by}" if by else "")
    return RowNote(
        holder=row.holder,
        is_mine=row.is_mine,
        left=times.span(row.holder.lapses_at - now) + " left" if row.holder else "",
        present=looking[0] + (f" and {len(looking) - 1} more" if len(looking) > 1 else "") if looking else "",
        closed=closed,
    )


@dataclass(frozen=True, slots=True)
class HistoryItem:
    """One thing that happened around a call, in order."""

    at: datetime
    icon: str
    tone: str
    words: str
    note: str = ""
    quoted: str = ""
    """Words of a person or a client, shown as theirs."""


def history(detail: CallDetail, *, me: int) -> list[HistoryItem]:
    """What happened around the call, oldest first."""
    intent = detail.intent
    items = [
        HistoryItem(
            intent.recorded_at,
            "runtime",
            "",
            f"Intent opened by {intent.runtime.name}",
            f"seq {intent.seq}, revision {intent.revision.number} in force, publication {intent.publication}",
        )
    ]
    for view in detail.reports:
        note = f"{', '.join(view.differing)} differs; " if view.differing else ""
        items.append(
            HistoryItem(
                view.report.received_at,
                "stop",
                "stop",
                f"Report refused: {view.report.code}",
                f"{note}nothing written to the run",
            )
        )
    if detail.case is not None:
        items.append(HistoryItem(detail.case.opened_at, "inbox", "", f"Case {detail.case.number} opened"))
    for claim in detail.claims:
        items += _claim_items(claim, now=detail.now, me=me)
    items += [
        HistoryItem(note.written_at, "note", "", f"Note by {note.person.name}", quoted=note.text)
        for note in detail.notes
    ]
    items += [
        HistoryItem(piece.added_at, "review", "", f"Evidence added by {piece.person.name}", piece.kind)
        for piece in detail.evidence
    ]
    items += [_settlement_item(settlement, me=me) for settlement in detail.settlements]
    if intent.closed_at is not None and detail.row.state is CaseState.CLOSED_BY_CLIENT:
        items.append(HistoryItem(intent.closed_at, "check", "ok", "Closed by the client's own report"))
    return sorted(items, key=lambda item: item.at)


def _claim_items(claim: Claim, *, now: datetime, me: int) -> list[HistoryItem]:
    name = "you" if claim.person_id == me else claim.person.name
    items = [HistoryItem(claim.claimed_at, "lock", "", f"Claimed by {name}")]
    ended_at, how = claim.ended_at, claim.how
    if ended_at is None and claim.lapses_at <= now:
        ended_at, how = claim.lapses_at, "lapsed"
    if ended_at is not None and CLAIM_ENDS.get(how):
        tone = "warn" if how == "lapsed" else ""
        by = f"{CLAIM_ENDS[how]} of {name}" if how in {"lapsed", "overtaken"} else f"{CLAIM_ENDS[how]} by {name}"
        items.append(HistoryItem(ended_at, "hourglass" if how == "lapsed" else "lock", tone, by))
    return items


def _settlement_item(settlement: Settlement, *, me: int) -> HistoryItem:
    who = "you" if settlement.person_id == me else settlement.person.name
    words = {
        "landed": f"Settled by {who}: landed",
        "failed": f"Settled by {who}: failed",
        "will_not_happen": f"Run abandoned by {who}",
        "still_unknown": f"Left unknown by {who}",
    }[settlement.outcome]
    note = f"seq {settlement.appended_seq}" if settlement.appended_seq is not None else ""
    if settlement.look_again_at is not None:
        note = f"look again {times.absolute(settlement.look_again_at)}"
    if code := reason(settlement):
        note = f"{note}; {code}" if note else code
    tone = "warn" if settlement.outcome == "still_unknown" else "ok"
    icon = "hourglass" if settlement.outcome == "still_unknown" else "check"
    return HistoryItem(settlement.settled_at, icon, tone, words, note, quoted=settlement.reason)


@dataclass(frozen=True, slots=True)
class Holding:
    """Who holds a case now, as the bar above the answer says it."""

    is_mine: bool
    name: str
    lapses_at: datetime
    left: str
    left_span: str
    seconds: int
    of_seconds: int
    claim_id: int


def holding(row: CallRow, *, now: datetime) -> Holding | None:
    claim = row.holder
    if claim is None:
        return None
    left = claim.lapses_at - now
    whole = max(int((claim.lapses_at - claim.claimed_at).total_seconds()), 1)
    seconds = max(int(left.total_seconds()), 0)
    return Holding(
        is_mine=row.is_mine,
        name=claim.person.name or claim.person.username,
        lapses_at=claim.lapses_at,
        left=f"{seconds // 60} min {seconds % 60} s",
        left_span=times.machine_span(left),
        seconds=min(seconds, whole),
        of_seconds=whole,
        claim_id=claim.pk,
    )


def sought(wanted: CallFilter) -> list[tuple[str, str]]:
    """A filter in words, for the page that it empties."""
    labels = dict(STATE_CHIPS)
    words = [("state", labels.get(wanted.state, wanted.state))] if wanted.state != "open" else []
    named = (("tool", wanted.tool), ("runtime", wanted.runtime), ("run", wanted.run))
    words += [(name, value) for name, value in named if value]
    return [*words, ("search", wanted.q)] if wanted.q else words


def waited(row: CallRow) -> timedelta | None:
    """How long a closed call had waited."""
    closed_at = row.intent.closed_at
    return closed_at - row.intent.waits_at if closed_at is not None else None
