"""A change request as its page tells it: changes in words and by field, who may decide and why others may not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from salvor_admin.domain import client_tools, review
from salvor_admin.domain.changes import Direction
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role
from salvor_admin.people import access as people_access
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Membership
from salvor_admin.reviews import comparing, schema_tables
from salvor_admin.reviews.comparing import Comparison
from salvor_admin.reviews.models import ChangeItem, ChangeRequest, Revision, Verdict
from salvor_admin.reviews.schema_tables import SchemaTable
from salvor_admin.reviews.selectors import RequestDetail


@dataclass(frozen=True, slots=True)
class ItemView:
    """One document of a change request, ready to be shown."""

    item: ChangeItem
    change: Comparison
    #: What went live underneath since this was drafted; None when nothing did.
    moved: Comparison | None
    input: SchemaTable | None
    output: SchemaTable | None

    @property
    def is_client_tool(self) -> bool:
        return self.item.document.kind == review.Kind.CLIENT_TOOL


@dataclass(frozen=True, slots=True)
class Decider:
    """Somebody who could decide, or could not, and why."""

    name: str
    is_you: bool
    may: bool
    why: str
    said: str


@dataclass(frozen=True, slots=True)
class VerdictView:
    """A verdict, and whether it still counts; `void` says why not."""

    verdict: Verdict
    void: str


def items(detail: RequestDetail) -> list[ItemView]:
    """The items with what changes in each, in words and by field."""
    return [_item(item) for item in detail.items]


def _item(item: ChangeItem) -> ItemView:
    kind, live = item.document.kind, item.document.live_revision
    base_body = item.base.body if item.base else None
    is_moved = item.open and item.base_id != item.document.live_revision_id
    tool = (
        client_tools.from_document_text(item.revision.body)
        if item.revision is not None and kind == review.Kind.CLIENT_TOOL
        else None
    )
    return ItemView(
        item=item,
        change=comparing.compare(kind, base_body, item.revision.body if item.revision else None),
        moved=comparing.compare(kind, base_body, live.body if live else None) if is_moved else None,
        input=schema_tables.of_input(tool) if tool else None,
        output=schema_tables.of_output(tool) if tool else None,
    )


def tally(views: Sequence[ItemView]) -> dict[str, int]:
    """How many changes loosen, tighten, or do neither."""
    return {direction.value: sum(view.change.tally[direction.value] for view in views) for direction in Direction}


@dataclass(frozen=True, slots=True)
class Since:
    """What changed in one document since somebody looked at it."""

    label: str
    seen: int
    now: int | None
    change: Comparison


def seen_mark(detail: RequestDetail) -> str:
    """Which revisions a page shows, to be sent back with a verdict: `document:revision`, a comma between."""
    return ",".join(f"{item.document_id}:{item.revision.number if item.revision else ''}" for item in detail.items)


def since(detail: RequestDetail, mark: str) -> list[Since]:
    """What differs between the revisions somebody saw and those here now."""
    seen: dict[str, int] = {}
    for part in mark[:10_000].split(","):
        document, _, number = part.partition(":")
        if number.isascii() and number.isdecimal() and len(number) < 10:
            seen[document] = int(number)
    items = {str(item.document_id): item for item in detail.items}
    found = []
    for row in Revision.objects.filter(
        document_id__in=[document for document in seen if document in items], number__in=set(seen.values())
    ):
        item = items[str(row.document_id)]
        if row.number != seen[str(row.document_id)] or row.pk == item.revision_id:
            continue
        change = comparing.compare(item.document.kind, row.body, item.revision.body if item.revision else None)
        found.append(Since(item.document.label, row.number, item.revision.number if item.revision else None, change))
    return found


def why_not(check: Callable[[], object]) -> str:
    """The refusal that a check raises, as a sentence; empty when nothing stands in the way."""
    try:
        check()
    except Refusal as refusal:
        return refusal.message
    return ""


def deciders(detail: RequestDetail, actor: Actor) -> list[Decider]:
    """Reviewers and publishers of the workspace, and the authors who may not decide; those who may come first.

    What keeps somebody from deciding for good is told; that the time for it has not come is not.
    """
    publishing = detail.facts.state is review.State.APPROVED
    facts = replace(detail.facts, state=review.State.APPROVED if publishing else review.State.IN_REVIEW)
    check = review.may_publish if publishing else review.may_give_verdict
    wanted = Role.PUBLISHER if publishing else Role.REVIEWER
    authors = frozenset().union(*(item.authors for item in facts.items)) if facts.items else frozenset()
    found = []
    for row in (
        Membership.objects.filter(workspace_id=actor.workspace_id, person__is_active=True)
        .select_related("person")
        .order_by("person__name")
    ):
        if wanted.value not in row.roles and row.person_id not in authors:
            continue
        person = review.ActorFacts(
            person_id=row.person_id, name=row.person.name, roles=frozenset(Role(role) for role in row.roles)
        )
        why = why_not(partial(check, facts, person))
        given = [said for said in detail.verdicts if said.person_id == row.person_id]
        found.append(Decider(row.person.name, row.person_id == actor.person_id, not why, why, _said(given, detail)))
    return sorted(found, key=lambda decider: (not decider.may, not decider.is_you, decider.name))


def _said(given: Sequence[Verdict], detail: RequestDetail) -> str:
    """What somebody's last verdict on this was, and whether it is void."""
    if not given:
        return ""
    last = given[-1]
    words = VERDICT_WORDS[last.verdict]
    return f"{words}, void: {void}" if (void := _void(last, detail)) else words


def verdicts(detail: RequestDetail) -> list[VerdictView]:
    """The verdicts in order, voided ones for what they are."""
    return [VerdictView(verdict, _void(verdict, detail)) for verdict in detail.verdicts]


def _void(verdict: Verdict, detail: RequestDetail) -> str:
    if verdict.digest != detail.request.digest:
        return "given for an earlier content; it changed since"
    standing = next(
        (
            given
            for given in detail.facts.verdicts
            if given.person_id == verdict.person_id and given.digest == verdict.digest
        ),
        None,
    )
    if standing is not None and not standing.person_may:
        return f"{verdict.person.name} is no reviewer here any more"
    return ""


def verbs(detail: RequestDetail, actor: Actor) -> dict[str, str]:
    """What this actor cannot do and why, by verb; an empty sentence means they can."""
    facts = people_access.facts(actor)
    return {
        "verdict": why_not(lambda: _verdict(detail, facts)),
        "publish": why_not(lambda: review.may_publish(detail.facts, facts)),
        "submit": why_not(lambda: review.decide_submit(detail.facts, facts)),
        "withdraw": why_not(lambda: review.decide_withdraw(detail.facts, facts)),
        "revise": why_not(lambda: review.decide_revise(detail.facts, facts)),
    }


def _verdict(detail: RequestDetail, facts: review.ActorFacts) -> None:
    review.may_give_verdict(detail.facts, facts)
    if any(
        given.person_id == facts.person_id and given.digest == detail.request.digest for given in detail.facts.verdicts
    ):
        raise Refusal("verdict_given", "You gave a verdict on this digest already.")


VERDICT_WORDS = {"approve": "approved", "request_changes": "asked for changes", "reject": "rejected"}

STAMPS: dict[str, tuple[str, str, str]] = {
    review.State.DRAFT: ("quiet", "note", "Draft"),
    review.State.IN_REVIEW: ("calm", "review", "In review"),
    review.State.APPROVED: ("ok", "check", "Approved"),
    review.State.PUBLISHED: ("ok", "catalogue", "Published"),
    review.State.CHANGES_REQUESTED: ("warn", "warn", "Changes requested"),
    review.State.REJECTED: ("stop", "stop", "Rejected"),
    review.State.WITHDRAWN: ("quiet", "stop", "Withdrawn"),
    review.State.STALE: ("warn", "hourglass", "Stale"),
}


def stamp(request: ChangeRequest) -> dict[str, str]:
    """A change request's state as icon and word."""
    tone, icon, words = STAMPS[request.state]
    if request.after_review:
        words = {"in_review": "Revoked, review open", "published": "Revoke reviewed"}.get(request.state, words)
    return {"tone": tone, "icon": icon, "words": words}
