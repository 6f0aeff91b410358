"""Letters about calls. What a client sent stands on the page alone: a mail lies open on its way."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.urls import reverse

from salvor_admin.delivery.letters import Letter, Moot, named
from salvor_admin.delivery.models import Delivery, Notice
from salvor_admin.delivery.plain_text import on_one_line
from salvor_admin.domain.mailing import Kind, Standing
from salvor_admin.domain.settling import Outcome
from salvor_admin.ledger.models import Intent
from salvor_admin.outbox.models import Message
from salvor_admin.people.models import Person
from salvor_admin.settlement.models import Claim, Settlement
from salvor_admin.web import times


def open_call(delivery: Delivery, now: datetime) -> Letter:
    """A call that waits, or that nobody answered in time."""
    notice, workspace = delivery.notice, delivery.workspace
    if notice is None:
        raise RuntimeError("a waiting call is told by a notice")
    intent = notice.intent
    if intent.standing != "open":
        raise Moot("The call was closed before this was sent.")
    if intent.waits_at != notice.since:
        raise Moot("The call was put off before this was sent.")
    due_at = notice.since + timedelta(seconds=workspace.answer_seconds)
    is_overdue = due_at < now
    if delivery.kind == Kind.CALL_WAITS and is_overdue and _is_told_as_overdue(delivery, notice):
        raise Moot("The call was overdue before this was sent, which is told by itself.")
    claim = Claim.objects.select_related("person").filter(case__intent=intent, ended_at__isnull=True, lapses_at__gt=now)
    holder = claim.first()
    facts = [
        *_facts(intent),
        ("Waits since", times.absolute(notice.since)),
        ("Due", times.absolute(due_at)),
        ("Held by", named(holder.person.name, holder.person.username) if holder else "nobody"),
    ]
    still = (
        "The run goes on standing still. Silence is neither yes nor no: nothing is decided by itself, however long "
        "it takes."
        if is_overdue
        else "The run stands still. Nothing is repeated, given up or decided by itself; past its due time the call "
        "counts as overdue, and settlers and admins hear of it."
    )
    why = (
        f"settlers and admins of {workspace.key} hear of calls that nobody answered in time."
        if delivery.kind == Kind.CALL_OVERDUE
        else f"settlers of {workspace.key} hear of calls whose outcome is not known: the report was not believed, "
        "or none came."
    )
    return Letter(
        kind=Kind(delivery.kind),
        state="Overdue" if is_overdue else "Waits",
        about=on_one_line(intent.tool),
        age=f"for {times.span(now - notice.since)}",
        path=_path(delivery, intent),
        why=why,
        if_nobody_acts=still,
        facts=tuple(facts),
    )


def _is_told_as_overdue(delivery: Delivery, notice: Notice) -> bool:
    rows = Delivery.objects.filter(
        person_id=delivery.person_id,
        notice__intent=notice.intent_id,
        notice__kind=Kind.CALL_OVERDUE.value,
        notice__since=notice.since,
    )
    return rows.filter(standing__in=[Standing.QUEUED.value, Standing.SENT.value]).exists()


def handed_over(delivery: Delivery, now: datetime) -> Letter:
    """A case that a colleague handed to this person."""
    intent = _intent(delivery)
    claim = Claim.objects.filter(
        case__intent=intent, person_id=delivery.person_id, ended_at__isnull=True, lapses_at__gt=now
    ).first()
    if intent.standing != "open" or claim is None:
        raise Moot("The person no longer held the case when this was to be sent.")
    giver = Person.objects.filter(pk=_message(delivery).ids.get("by")).first()
    who = named(giver.name, giver.username) if giver else "a colleague"
    return Letter(
        kind=Kind.CALL_HANDED_OVER,
        state="Handed to you",
        about=on_one_line(intent.tool),
        age=f"{times.span(now - claim.claimed_at)} ago",
        path=_path(delivery, intent),
        why=f"{who} handed the case of this call to you.",
        if_nobody_acts="Your claim lapses by itself, and then the call is everybody's again. Activity extends it.",
        facts=(*_facts(intent), ("Yours until", times.absolute(claim.lapses_at))),
    )


_ENDS = {
    Outcome.LANDED: ("Settled as landed", "Nothing is left to do. The run may go on."),
    Outcome.FAILED: ("Settled as failed", "Nothing is left to do. The run may go on, and knows that the call failed."),
    Outcome.WILL_NOT_HAPPEN: ("Run abandoned", "Nothing is left to do. The run has ended for good."),
    Outcome.STILL_UNKNOWN: ("Left unknown", "The call comes back to the inbox when it was said."),
}


def answered(delivery: Delivery, now: datetime) -> Letter:
    """What a person decided about a call."""
    intent = _intent(delivery)
    settlement = Settlement.objects.select_related("person").get(
        case__intent=intent, settled_at=_message(delivery).created_at
    )
    state, rest = _ENDS[Outcome(settlement.outcome)]
    facts = [*_facts(intent), ("By", named(settlement.person.name, settlement.person.username))]
    if settlement.look_again_at is not None:
        facts.append(("Comes back", times.absolute(settlement.look_again_at)))
    return Letter(
        kind=Kind.CALL_ANSWERED,
        state=state,
        about=on_one_line(intent.tool),
        age=f"{times.span(now - settlement.settled_at)} ago",
        path=_path(delivery, intent),
        why="you were told that this call waits, or you wrote the revision of the tool that was in force.",
        if_nobody_acts=rest,
        facts=tuple(facts),
    )


def _intent(delivery: Delivery) -> Intent:
    return Intent.objects.select_related("run", "runtime").get(
        pk=delivery.subject_id, workspace_id=delivery.workspace_id
    )


def _message(delivery: Delivery) -> Message:
    if delivery.message is None:
        raise RuntimeError("a decision is told by a message")
    return delivery.message


def _facts(intent: Intent) -> tuple[tuple[str, str], ...]:
    return (
        ("Effect", intent.effect),
        ("Runtime", on_one_line(intent.runtime.name)),
        ("Run", f"{intent.run.run_id}, seq {intent.seq}"),
    )


def _path(delivery: Delivery, intent: Intent) -> str:
    return reverse("settlement:call", args=[delivery.workspace.key, intent.pk])
