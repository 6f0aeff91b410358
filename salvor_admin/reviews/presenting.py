"""A change request as its page tells it: changes in words and by field, who may decide and why others may not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from salvor_admin.domain import canonical, changes, review, strict_json
from salvor_admin.domain.changes import MISSING, Change, Direction, Meaning
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role
from salvor_admin.people import access as people_access
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Membership
from salvor_admin.reviews.models import ChangeItem, ChangeRequest, Verdict
from salvor_admin.reviews.selectors import RequestDetail


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One row of the field table; texts are canonical JSON, None where the member does not stand."""

    path: str
    was: str | None
    now: str | None


@dataclass(frozen=True, slots=True)
class ItemView:
    """One document of a change request, ready to be shown."""

    item: ChangeItem
    meanings: list[Meaning]
    fields: list[FieldChange]
    body: str | None
    base_body: str | None


@dataclass(frozen=True, slots=True)
class Decider:
    """Somebody who could decide, or could not, and why."""

    name: str
    is_you: bool
    may: bool
    why: str


@dataclass(frozen=True, slots=True)
class VerdictView:
    """A verdict, and whether it still counts; `void` says why not."""

    verdict: Verdict
    void: str


def items(detail: RequestDetail) -> list[ItemView]:
    """The items with what changes in each, in words and by field."""
    return [_item(item) for item in detail.items]


def _item(item: ChangeItem) -> ItemView:
    body = item.revision.body if item.revision else None
    base_body = item.base.body if item.base else None
    now = strict_json.read(body.encode()) if body is not None else None
    was = strict_json.read(base_body.encode()) if base_body is not None else None
    fields = changes.between(MISSING if was is None else was, MISSING if now is None else now)
    if was is None and isinstance(now, dict):
        # Nothing was live: every member is new, and a row each reads better than one row for the whole.
        fields = [Change(changes.pointer("", name), MISSING, value) for name, value in sorted(now.items())]
    meanings = (
        changes.client_tool_meanings(was if isinstance(was, dict) else None, now if isinstance(now, dict) else None)
        if item.document.kind == review.Kind.CLIENT_TOOL
        else []
    )
    return ItemView(
        item=item,
        meanings=meanings,
        fields=[FieldChange(change.path, _text(change.was), _text(change.now)) for change in fields],
        body=body,
        base_body=base_body,
    )


def _text(value: object) -> str | None:
    return None if isinstance(value, changes.Missing) else canonical.text(cast(strict_json.Json, value))


def tally(views: Sequence[ItemView]) -> dict[str, int]:
    """How many changes loosen, tighten, or do neither."""
    found = [meaning.direction for view in views for meaning in view.meanings]
    return {direction.value: found.count(direction) for direction in Direction}


def why_not(check: Callable[[], object]) -> str:
    """The refusal that a check raises, as a sentence; empty when nothing stands in the way."""
    try:
        check()
    except Refusal as refusal:
        return refusal.message
    return ""


def deciders(detail: RequestDetail, actor: Actor) -> list[Decider]:
    """Reviewers and publishers of the workspace, and the authors who may not decide; those who may come first."""
    publishing = detail.facts.state is review.State.APPROVED
    rows = (
        Membership.objects.filter(workspace_id=actor.workspace_id, person__is_active=True)
        .select_related("person")
        .order_by("person__name")
    )
    authors = frozenset().union(*(item.authors for item in detail.facts.items)) if detail.facts.items else frozenset()
    wanted = Role.PUBLISHER if publishing else Role.REVIEWER
    found = []
    for row in rows:
        if wanted.value not in row.roles and row.person_id not in authors:
            continue
        facts = review.ActorFacts(
            person_id=row.person_id,
            name=row.person.name,
            roles=frozenset(Role(role) for role in row.roles),
        )
        check = review.may_publish if publishing else review.may_give_verdict
        why = why_not(lambda facts=facts, check=check: check(detail.facts, facts))  # type: ignore[misc]
        found.append(Decider(row.person.name, row.person_id == actor.person_id, not why, why))
    return sorted(found, key=lambda decider: (not decider.may, not decider.is_you, decider.name))


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
