"""One call with all that stands beside it: what was asked, what was reported, who approved the rules, what was done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from salvor_admin.audit import selectors as audit
from salvor_admin.audit.models import Entry
from salvor_admin.domain import canonical, comparison, keys, settling, strict_json
from salvor_admin.domain.client_tools import ClientTool
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.settling import CaseState, Outcome
from salvor_admin.domain.strict_json import Json
from salvor_admin.ledger import declarations
from salvor_admin.ledger.models import Event, Intent, LeaseEnd, Report, Run
from salvor_admin.ledger.services import is_driven
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Person
from salvor_admin.reviews.models import PublicationItem, Revision, Verdict
from salvor_admin.settlement import access, selectors
from salvor_admin.settlement.models import Case, Claim, Evidence, KeptText, Note, Settlement
from salvor_admin.settlement.selectors import CallRow

MOST_TWINS: Final = 20
MOST_REPORTS: Final = 50


@dataclass(frozen=True, slots=True)
class ReportView:
    """One refused report beside the input it was about."""

    report: Report
    body: str
    size: int
    fields: list[comparison.Row]
    differing: list[str]


@dataclass(frozen=True, slots=True)
class InForce:
    """The revision a call is judged by: who approved and published it, and whether it is still the live one."""

    revision: Revision
    document_id: UUID
    approved_by: list[Person]
    published_by: Person | None
    published_at: datetime | None
    live_number: int | None

    @property
    def is_live(self) -> bool:
        return self.live_number == self.revision.number


@dataclass(frozen=True, slots=True)
class Driver:
    """Who drives the run, and what its last lease said."""

    is_attached: bool
    runtime: str
    seen_at: datetime | None
    lapses_at: datetime | None
    last_end: LeaseEnd | None


@dataclass(frozen=True, slots=True)
class CallDetail:
    """Everything a settler reads before answering."""

    row: CallRow
    input: Json
    input_text: str
    tool: ClientTool
    in_force: InForce
    key_text: str
    reports: list[ReportView]
    driver: Driver
    twins: list[CallRow]
    claims: list[Claim]
    notes: list[Note]
    evidence: list[Evidence]
    settlements: list[Settlement]
    kept: KeptText | None
    now: datetime

    @property
    def intent(self) -> Intent:
        return self.row.intent

    @property
    def case(self) -> Case | None:
        return self.row.case

    @property
    def run(self) -> Run:
        return self.row.intent.run

    @property
    def is_open(self) -> bool:
        return self.row.is_open


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the ledger says after an answer, read from it anew."""

    run_id: UUID
    seq: int
    appended_seq: int
    recorded_at: datetime
    state: CaseState
    kind: str
    payload: str
    output: str | None
    settlement: Settlement
    run: Run
    entry: Entry | None
    """What the audit trail says of the answer."""


def call_detail(actor: Actor, intent_id: UUID, *, now: datetime) -> CallDetail:
    """One call of the actor's workspace; raises `not_found`."""
    rows = access.intents(actor).select_related(
        "run__last_driver", "runtime", "revision__document__live_revision", "case"
    )
    intent = rows.filter(pk=intent_id).first()
    if intent is None:
        raise access.unknown_call()
    row = selectors.rows_of(actor, [intent], now=now)[0]
    event = Event.objects.get(run=intent.run, seq=intent.seq)
    input: Json = event.as_domain().payload["input"]
    tool = declarations.tool_of(intent.revision_id)
    case = row.case
    return CallDetail(
        row=row,
        input=input,
        input_text=canonical.text(input),
        tool=tool,
        in_force=_in_force(intent),
        key_text=keys.idempotency_key(tool, run_id=str(intent.run.run_id), seq=intent.seq, input=input)[1],
        reports=_reports(intent, tool, input),
        driver=_driver(intent.run, now),
        twins=_twins(actor, intent, now),
        claims=list(Claim.objects.filter(case=case).select_related("person").order_by("claimed_at", "pk"))
        if case
        else [],
        notes=list(Note.objects.filter(case=case).select_related("person").order_by("written_at", "pk"))
        if case
        else [],
        evidence=list(Evidence.objects.filter(case=case).select_related("person").order_by("added_at", "pk"))
        if case
        else [],
        settlements=(
            list(
                Settlement.objects.filter(case=case).select_related("person", "judged_by").order_by("settled_at", "pk")
            )
            if case
            else []
        ),
        kept=KeptText.objects.filter(case=case, person_id=actor.person_id).first() if case else None,
        now=now,
    )


def final_settlement(actor: Actor, intent_id: UUID) -> Settlement | None:
    """The answer that closed a call; None while it is open, or when its client closed it."""
    return (
        Settlement.objects.select_related("person", "judged_by", "case")
        .filter(case__intent_id=intent_id, case__workspace_id=actor.workspace_id)
        .exclude(outcome=Outcome.STILL_UNKNOWN.value)
        .order_by("settled_at")
        .first()
    )


def receipt(actor: Actor, intent_id: UUID) -> Receipt:
    """The event that a person's answer appended, and the run now, as the ledger holds them at this moment."""
    intent = access.intent(actor, intent_id)
    settlement = final_settlement(actor, intent_id)
    if settlement is None or settlement.appended_seq is None:
        raise Refusal("not_found", "No person has closed this call, so there is no receipt. Open the call itself.")
    run = Run.objects.select_related("last_driver").get(pk=intent.run_id)
    event = Event.objects.get(run=run, seq=settlement.appended_seq)
    payload: dict[str, Any] = event.as_domain().payload
    return Receipt(
        run_id=run.run_id,
        seq=intent.seq,
        appended_seq=event.seq,
        recorded_at=event.recorded_at,
        state=settling.state_of(intent.standing, stored=settlement.case.state, is_held=False),
        kind=event.kind,
        payload=event.payload,
        output=canonical.text(payload["output"]) if "output" in payload else None,
        settlement=settlement,
        run=run,
        entry=audit.entries(actor.workspace_id)
        .filter(subject_kind="case", subject_id=str(settlement.case_id), action__in=["case.settled", "case.abandoned"])
        .first(),
    )


# --- parts -----------------------------------------------------------------------------------------------------------


def _in_force(intent: Intent) -> InForce:
    document = intent.revision.document
    item = (
        PublicationItem.objects.select_related("publication__published_by")
        .filter(revision=intent.revision, publication__number__lte=intent.publication)
        .order_by("-publication__number")
        .first()
    )
    approvals: list[Person] = []
    if item is not None and item.publication.request_id is not None:
        verdicts = Verdict.objects.filter(request_id=item.publication.request_id, verdict="approve")
        approvals = [verdict.person for verdict in verdicts.select_related("person").order_by("given_at")]
    live = document.live_revision
    return InForce(
        revision=intent.revision,
        document_id=document.pk,
        approved_by=approvals,
        published_by=item.publication.published_by if item else None,
        published_at=item.publication.published_at if item else None,
        live_number=live.number if live else None,
    )


def _reports(intent: Intent, tool: ClientTool, input: Json) -> list[ReportView]:
    views = []
    for report in (
        Report.objects.filter(intent=intent).select_related("runtime").order_by("-received_at", "pk")[:MOST_REPORTS]
    ):
        output = strict_json.read(report.output.encode(), max_depth=1000) if report.output is not None else None
        fields = comparison.rows(tool, input=input, output=output) if report.output is not None else []
        body = bytes(report.body)
        views.append(
            ReportView(
                report=report,
                body=body[:20_000].decode("utf-8", "replace"),
                size=len(body),
                fields=fields,
                differing=[row.field for row in fields if row.standing is comparison.Standing.DIFFERS],
            )
        )
    return views


def _driver(run: Run, now: datetime) -> Driver:
    ttl = timedelta(seconds=run.lease_ttl_seconds or 0)
    held = run.lease_hash is not None and run.lease_seen_at is not None
    return Driver(
        is_attached=is_driven(run, now=now),
        runtime=run.last_driver.name if run.last_driver else "",
        seen_at=run.lease_seen_at,
        lapses_at=run.lease_seen_at + ttl if held and run.lease_seen_at else None,
        last_end=LeaseEnd.objects.filter(run=run).select_related("runtime").order_by("-ended_at", "-pk").first(),
    )


def _twins(actor: Actor, intent: Intent, now: datetime) -> list[CallRow]:
    if intent.likeness is None:
        return []
    alike = access.intents(actor).filter(likeness=intent.likeness).exclude(pk=intent.pk)
    rows = alike.select_related("run__last_driver", "runtime", "revision", "case").order_by("-recorded_at")
    return selectors.rows_of(actor, list(rows[:MOST_TWINS]), now=now)
