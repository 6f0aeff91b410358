"""What waits for one person."""

from __future__ import annotations

from dataclasses import dataclass

from salvor_admin.domain.review import State
from salvor_admin.domain.rights import Role
from salvor_admin.people.access import Actor
from salvor_admin.reviews import selectors as reviews
from salvor_admin.reviews.models import ChangeRequest
from salvor_admin.settlement import selectors as settlement

SHOWN = 5


@dataclass(frozen=True, slots=True)
class Waiting:
    """The first few of each pile, and how many there are in all (`more`: counting stopped)."""

    calls: int
    calls_more: bool
    to_review: list[ChangeRequest]
    to_publish: list[ChangeRequest]
    own: list[ChangeRequest]
    settles: bool

    @property
    def nothing(self) -> bool:
        return not (self.to_review or self.to_publish or self.own or (self.settles and self.calls))


def waiting_for(actor: Actor) -> Waiting:
    """What this person could do now, by their roles; what they wrote themselves is never theirs to decide."""
    calls, more = settlement.count_waiting(actor.workspace_id)
    rows = reviews.change_requests(actor.workspace_id)
    written = {"items__revision__author_id": actor.person_id}
    return Waiting(
        calls=calls,
        calls_more=more,
        to_review=list(rows.filter(state=State.IN_REVIEW).exclude(**written)[:SHOWN])
        if actor.has(Role.REVIEWER)
        else [],
        to_publish=list(rows.filter(state=State.APPROVED).exclude(**written)[:SHOWN])
        if actor.has(Role.PUBLISHER)
        else [],
        own=list(
            rows.filter(
                created_by_id=actor.person_id,
                state__in=[State.DRAFT, State.CHANGES_REQUESTED, State.STALE],
            )[:SHOWN]
        ),
        settles=actor.has(Role.SETTLER),
    )
