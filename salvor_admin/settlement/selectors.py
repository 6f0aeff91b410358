"""The inbox as rows: what waits, what was answered, by filters that stand in the address."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from salvor_admin.domain import canonical, settling
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.review import Kind
from salvor_admin.domain.settling import CaseState
from salvor_admin.ledger.models import Event, Intent
from salvor_admin.ledger.services import is_driven
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Person, Workspace
from salvor_admin.reviews.models import Document
from salvor_admin.settlement import access, search
from salvor_admin.settlement.evidence import PRESENT_FOR
from salvor_admin.settlement.models import Case, Claim, Presence, Settlement
from salvor_admin.settlement.search import BY_DUE, Found
from salvor_admin.web.pagination import Page, keyset_page

COUNTED_TO: Final = 1000
"""Where counting stops: nobody counts a table to say how much waits."""
STATES: Final = ("open", "waiting", "claimed", "mine", "overdue", "decided", "all")
LATEST_SEARCHED: Final = 2000
"""How many answered calls a search looks through, the latest first."""
BY_DECISION: Final = ("-decided_at", "-id")


@dataclass(frozen=True, slots=True)
class CallFilter:
    """What is looked for; every member stands in the address."""

    state: str = "open"
    tool: str = ""
    runtime: str = ""
    run: str = ""
    q: str = ""

    @property
    def hides(self) -> bool:
        """Whether it may hide calls that wait."""
        return self != CallFilter()

    def query(self) -> dict[str, str]:
        """Its members that say something."""
        names = ("state", "tool", "runtime", "run", "q")
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(CallFilter(), name)}


@dataclass(frozen=True, slots=True)
class Shown:
    """A pinned or identity field by name, with its canonical text."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class CallRow:
    """One call as lists show it."""

    intent: Intent
    case: Case | None
    state: CaseState
    subject: tuple[Shown, ...]
    due_at: datetime
    is_overdue: bool
    holder: Claim | None
    is_mine: bool
    has_twin: bool
    present: tuple[Presence, ...]
    settlement: Settlement | None
    driver: str

    @property
    def is_open(self) -> bool:
        return self.state not in settling.DECIDED


@dataclass(frozen=True, slots=True)
class CallPage:
    """Some calls, the cursor of the next page, and how many match (`more`: counting stopped there)."""

    rows: list[CallRow]
    next_cursor: str | None
    matching: int
    more: bool


# --- counting and finding --------------------------------------------------------------------------------------------


def waiting(workspace_id: int) -> QuerySet[Intent]:
    """The calls that wait for a person at this moment."""
    return Intent.objects.filter(workspace_id=workspace_id, standing="open", waits_at__lte=Now())


def count_waiting(workspace_id: int) -> tuple[int, bool]:
    """How many calls wait for a person now, and whether there are more than were counted."""
    return _count(waiting(workspace_id))


def _count(rows: QuerySet[Any]) -> tuple[int, bool]:
    found = rows.order_by()[: COUNTED_TO + 1].count()
    return min(found, COUNTED_TO), found > COUNTED_TO


def open_calls(actor: Actor, wanted: CallFilter, *, now: datetime) -> Found:
    """The waiting calls that a filter lets through."""
    rows = _matching(actor, waiting(actor.workspace_id), wanted)
    held = Claim.objects.filter(case__intent=OuterRef("pk"), ended_at__isnull=True, lapses_at__gt=now)
    if wanted.state == "waiting":
        rows = rows.filter(~Exists(held))
    elif wanted.state in {"claimed", "mine"}:
        standing = Claim.objects.filter(case__workspace_id=actor.workspace_id, ended_at__isnull=True, lapses_at__gt=now)
        if wanted.state == "mine":
            standing = standing.filter(person_id=actor.person_id)
        rows = rows.filter(pk__in=standing.values("case__intent_id"))
    elif wanted.state == "overdue":
        rows = rows.filter(waits_at__lt=now - _answer_time(actor.workspace))
    return search.among_open(rows, wanted.q) if wanted.q else Found(rows)


def calls(actor: Actor, wanted: CallFilter, *, now: datetime, cursor: str | None = None, limit: int = 50) -> CallPage:
    """One page of calls: those that wait by due time, those decided by decision, a run's own by position."""
    if wanted.state == "decided":
        return _decided(actor, wanted, now=now, cursor=cursor, limit=limit)
    if wanted.state == "all" or wanted.run:
        order = ("seq", "id") if wanted.run else ("id",)
        found = Found(_matching(actor, access.intents(actor), wanted))
        if wanted.q:
            some = search.among_some(found.rows, wanted.q)
            found = Found(some) if wanted.run else Found(some, COUNTED_TO, more=True)
    else:
        found, order = open_calls(actor, wanted, now=now), BY_DUE
    page = keyset_page(_related(found.rows), order, cursor=cursor, limit=limit)
    number, more = (found.number, found.more) if found.number is not None else _count(found.rows)
    return CallPage(rows_of(actor, page.rows, now=now), page.next_cursor, number, more)


def _decided(actor: Actor, wanted: CallFilter, *, now: datetime, cursor: str | None, limit: int) -> CallPage:
    cases = Case.objects.filter(workspace_id=actor.workspace_id, kind="unsettled", decided_at__isnull=False)
    if wanted.tool or wanted.runtime or wanted.run:
        cases = cases.filter(intent__in=_matching(actor, access.intents(actor), wanted))
    if wanted.q:
        latest = cases.order_by(*BY_DECISION).values("intent_id")[:LATEST_SEARCHED]
        cases = cases.filter(intent__in=search.among_some(access.intents(actor).filter(pk__in=latest), wanted.q))
    page = keyset_page(
        cases.select_related("intent__run__last_driver", "intent__runtime", "intent__revision"),
        BY_DECISION,
        cursor=cursor,
        limit=limit,
    )
    number, more = _count(cases)
    intents = [_with_case(case) for case in page.rows]
    return CallPage(rows_of(actor, intents, now=now), page.next_cursor, number, more)


def next_call(actor: Actor, wanted: CallFilter, *, after: Intent, now: datetime) -> UUID | None:
    """The waiting call after this one that nobody else holds; from the top when none comes after it."""
    foreign = Claim.objects.filter(case__intent=OuterRef("pk"), ended_at__isnull=True, lapses_at__gt=now).exclude(
        person_id=actor.person_id
    )
    if wanted.state not in {"open", "waiting", "mine", "overdue"}:
        wanted = replace(wanted, state="open")
    rows = open_calls(actor, wanted, now=now).rows.filter(~Exists(foreign)).exclude(pk=after.pk).order_by(*BY_DUE)
    later = Q(waits_at__gt=after.waits_at) | Q(waits_at=after.waits_at, id__gt=after.pk)
    bound = rows.filter(waits_at__gte=after.waits_at).filter(later)
    return bound.values_list("pk", flat=True).first() or rows.values_list("pk", flat=True).first()


def neighbours(actor: Actor, wanted: CallFilter, *, of: Intent, now: datetime) -> tuple[UUID | None, UUID | None]:
    """The calls before and after this one in the list as it is now."""
    if wanted.state in {"decided", "all"} or of.standing != "open":
        return None, None
    rows = open_calls(actor, wanted, now=now).rows
    earlier = Q(waits_at__lt=of.waits_at) | Q(waits_at=of.waits_at, id__lt=of.pk)
    later = Q(waits_at__gt=of.waits_at) | Q(waits_at=of.waits_at, id__gt=of.pk)
    before = rows.filter(waits_at__lte=of.waits_at).filter(earlier).order_by("-waits_at", "-id")
    after = rows.filter(waits_at__gte=of.waits_at).filter(later).order_by(*BY_DUE)
    return before.values_list("pk", flat=True).first(), after.values_list("pk", flat=True).first()


def _matching(actor: Actor, rows: QuerySet[Intent], wanted: CallFilter) -> QuerySet[Intent]:
    if wanted.tool:
        rows = rows.filter(tool=wanted.tool)
    if wanted.runtime:
        # By id, so that the index by runtime leads to them.
        named = actor.workspace.runtimes.filter(name=wanted.runtime).values_list("pk", flat=True).first()
        rows = rows.filter(runtime_id=named) if named is not None else rows.none()
    if wanted.run:
        rows = rows.filter(run__run_id=_run_id(wanted.run))
    return rows


def _run_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Refusal("bad_request", f"{text[:60]!r} is no run id; give the whole UUID.", place="run") from None


# --- rows ------------------------------------------------------------------------------------------------------------


def _related(rows: QuerySet[Intent]) -> QuerySet[Intent]:
    return rows.select_related("run__last_driver", "runtime", "revision", "case")


def _with_case(case: Case) -> Intent:
    if case.intent is None:
        raise RuntimeError("an unsettled case without a call")
    case.intent.case = case
    return case.intent


def rows_of(actor: Actor, intents: Sequence[Intent], *, now: datetime) -> list[CallRow]:
    """Calls with what stands beside them, in a fixed number of queries."""
    ids = [intent.pk for intent in intents]
    claims = _claims_of(ids, now)
    twins = _with_twins(intents)
    present = _present_at(ids, now, but=actor.person_id)
    settlements = {
        row.case_id: row
        for row in Settlement.objects.filter(case__intent__in=ids)
        .select_related("person", "judged_by")
        .order_by("settled_at")
    }
    rows = []
    for intent in intents:
        case: Case | None = getattr(intent, "case", None)
        claim = claims.get(intent.pk) if intent.standing == "open" else None
        due_at = intent.waits_at + _answer_time(actor.workspace)
        rows.append(
            CallRow(
                intent=intent,
                case=case,
                state=settling.state_of(
                    intent.standing, stored=case.state if case else None, is_held=claim is not None
                ),
                subject=read_subject(intent.subject),
                due_at=due_at,
                is_overdue=intent.standing == "open" and due_at < now,
                holder=claim,
                is_mine=claim is not None and claim.person_id == actor.person_id,
                has_twin=intent.pk in twins,
                present=tuple(present.get(intent.pk, ())),
                settlement=settlements.get(case.pk) if case else None,
                driver="attached" if is_driven(intent.run, now=now) else "none",
            )
        )
    return rows


def read_subject(text: str) -> tuple[Shown, ...]:
    """The pinned and identity fields kept beside a call."""
    return tuple(Shown(str(name), str(value)) for name, value, *_ in json.loads(text))


def _claims_of(ids: Iterable[UUID], now: datetime) -> dict[UUID | None, Claim]:
    rows = Claim.objects.filter(case__intent__in=ids, ended_at__isnull=True, lapses_at__gt=now)
    return {claim.case.intent_id: claim for claim in rows.select_related("person", "case")}


def _with_twins(intents: Sequence[Intent]) -> set[UUID]:
    """Which of these calls have a likely duplicate, open or closed, anywhere in the workspace."""
    twin = Intent.objects.filter(workspace=OuterRef("workspace"), likeness=OuterRef("likeness")).exclude(
        pk=OuterRef("pk")
    )
    alike = Intent.objects.filter(pk__in=[intent.pk for intent in intents], likeness__isnull=False)
    return set(alike.filter(Exists(twin)).values_list("pk", flat=True))


def _present_at(ids: Iterable[UUID], now: datetime, *, but: int) -> dict[UUID, list[Presence]]:
    found: dict[UUID, list[Presence]] = {}
    rows = Presence.objects.filter(intent__in=ids, seen_at__gt=now - PRESENT_FOR).exclude(person_id=but)
    for presence in rows.select_related("person").order_by("-is_editing", "person__username"):
        found.setdefault(presence.intent_id, []).append(presence)
    return found


def inputs_of(intents: Sequence[Intent]) -> dict[UUID, str]:
    """The recorded inputs' canonical texts, by one query."""
    places = {(intent.run_id, intent.seq): intent.pk for intent in intents}
    events = Event.objects.filter(pk__in=list(places)) if places else Event.objects.none()
    return {places[event.run_id, event.seq]: payload_member(event, "input") for event in events}


def payload_member(event: Event, name: str) -> str:
    """A member of a stored payload as it is spelt there."""
    return canonical.text(event.as_domain().payload[name])


def tools_of(actor: Actor) -> list[str]:
    """The names a filter by tool offers: the live client tools."""
    rows = Document.objects.filter(workspace_id=actor.workspace_id, kind=Kind.CLIENT_TOOL.value)
    return list(rows.order_by("label").values_list("label", flat=True)[:200])


def runtimes_of(actor: Actor) -> list[str]:
    """The names a filter by runtime offers."""
    return list(actor.workspace.runtimes.order_by("name").values_list("name", flat=True)[:200])


def last_decided_at(actor: Actor) -> datetime | None:
    """When the last call was answered."""
    return (
        Case.objects.filter(workspace_id=actor.workspace_id, decided_at__isnull=False)
        .order_by("-decided_at", "-id")
        .values_list("decided_at", flat=True)
        .first()
    )


def settlements_of(actor: Actor, person: Person, *, cursor: str | None, limit: int) -> Page[Settlement]:
    """What one person answered in this workspace, newest first."""
    rows = Settlement.objects.filter(person=person, case__workspace_id=actor.workspace_id)
    return keyset_page(
        rows.select_related("case__intent__run", "case__intent__runtime"),
        ("-settled_at", "-id"),
        cursor=cursor,
        limit=limit,
    )


def settlers(actor: Actor) -> list[Person]:
    """Who else could take a case here."""
    rows = Person.objects.filter(
        is_active=True, memberships__workspace_id=actor.workspace_id, memberships__roles__contains=["settler"]
    )
    return list(rows.exclude(pk=actor.person_id).order_by("name", "username")[:200])


def _answer_time(workspace: Workspace) -> timedelta:
    return timedelta(seconds=workspace.answer_seconds)
