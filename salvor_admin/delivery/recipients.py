"""Who hears of what: those who could act, and the authors of whatever was decided. Never whoever did it themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from salvor_admin.delivery.models import Delivery
from salvor_admin.domain.mailing import Kind, Standing
from salvor_admin.domain.review import State
from salvor_admin.domain.review import Verdict as Word
from salvor_admin.domain.rights import Role
from salvor_admin.ledger.models import Intent
from salvor_admin.outbox.models import Message
from salvor_admin.people.models import Membership, PersonalToken
from salvor_admin.reviews import selectors as reviews
from salvor_admin.reviews.models import ChangeItem, ChangeRequest, Publication, Verdict
from salvor_admin.settlement.models import Claim


@dataclass(frozen=True, slots=True)
class Hearing:
    """One person is to hear one thing."""

    person_id: int
    kind: Kind
    subject_id: str


def of_message(message: Message) -> list[Hearing]:
    """Everybody who hears of a message, once each and subject; `LookupError` for a topic that nobody gave a rule."""
    if message.topic in UNHEARD:
        return []
    rule = RULES.get(message.topic)
    if rule is None:
        raise LookupError(f"no rule says who hears of {message.topic}")
    return rule(message)


def members(workspace_id: int, role: Role | None = None) -> set[int]:
    """The active people of a workspace, or those with a role in it."""
    rows = Membership.objects.filter(workspace_id=workspace_id, person__is_active=True)
    if role is not None:
        rows = rows.filter(roles__contains=[role.value])
    return set(rows.values_list("person_id", flat=True))


def _each(people: Iterable[int], kind: Kind, subject_id: object) -> list[Hearing]:
    return [Hearing(person_id, kind, str(subject_id)) for person_id in sorted(people)]


def _request(message: Message) -> ChangeRequest:
    return ChangeRequest.objects.get(pk=message.subject_id, workspace_id=message.workspace_id)


def _writers(request: ChangeRequest) -> set[int]:
    """Whoever wrote a part of it: they are barred from deciding it."""
    return set().union(*reviews.authors_of(reviews.items_of(request), request).values())


def _authors(request: ChangeRequest) -> set[int]:
    """Whoever hears what became of it: its writers, who proposed it, and whose revision it takes away."""
    proposers = {person for person in (request.created_by_id, request.submitted_by_id) if person is not None}
    removed = {
        item.base.author_id for item in reviews.items_of(request) if item.revision is None and item.base is not None
    }
    return (_writers(request) | proposers | removed) & members(request.workspace_id)


def _submitted(message: Message) -> list[Hearing]:
    request = _request(message)
    if is_superseded(message, request):
        return []
    able = members(request.workspace_id, Role.REVIEWER) - _writers(request) - {request.submitted_by_id}
    return _each(able, Kind.REVIEW_ASKED, request.pk)


def is_superseded(message: Message, request: ChangeRequest) -> bool:
    """Whether what was submitted is no longer under review, or was submitted anew since."""
    return request.state != State.IN_REVIEW or (
        request.submitted_at is not None and request.submitted_at > message.created_at
    )


def _verdict_given(message: Message) -> list[Hearing]:
    request = _request(message)
    verdict = Verdict.objects.get(pk=message.ids["verdict"], request=request)
    authors = _authors(request) - {verdict.person_id}
    asked: set[int] = set()
    if request.state == State.APPROVED and verdict.verdict == Word.APPROVE:
        able = members(request.workspace_id, Role.PUBLISHER) - _writers(request)
        asked = able - authors - {verdict.person_id}
    return _each(authors, Kind.VERDICT_GIVEN, request.pk) + _each(asked, Kind.PUBLISHING_ASKED, request.pk)


def _withdrawn(message: Message) -> list[Hearing]:
    request = _request(message)
    judges = set(request.verdicts.values_list("person_id", flat=True)) & members(request.workspace_id)
    return _each((_authors(request) | judges) - {message.ids.get("by")}, Kind.WITHDRAWN, request.pk)


def _published(message: Message) -> list[Hearing]:
    request = _request(message)
    publication = publication_of(message)
    authors = _authors(request) - {publication.published_by_id}
    return _each(authors, Kind.PUBLISHED, request.pk) + _staled_by(publication)


def publication_of(message: Message) -> Publication:
    """The publication that a message tells of."""
    return Publication.objects.select_related("request", "published_by").get(
        workspace_id=message.workspace_id, number=message.ids["publication"]
    )


def _staled_by(publication: Publication) -> list[Hearing]:
    """The authors of open changes under which something newer went live."""
    moved = publication.items.values("document_id")
    stale = ChangeRequest.objects.filter(
        pk__in=ChangeItem.objects.filter(document__in=moved, open=True).values("request_id"), state=State.STALE.value
    )
    return [hearing for request in stale for hearing in _each(_authors(request), Kind.STALED, request.pk)]


def _revoked(message: Message) -> list[Hearing]:
    publication = publication_of(message)
    here = members(message.workspace_id)
    barred = {publication.published_by_id} | (_writers(publication.request) if publication.request else set())
    able = members(message.workspace_id, Role.REVIEWER) - barred
    revisions = publication.items.filter(was__isnull=False).values_list("was__author_id", flat=True)
    told = (set(revisions) & here) | members(message.workspace_id, Role.PUBLISHER)
    return (
        _each(able, Kind.LOOK_BACK_ASKED, message.subject_id)
        + _each(told - able - {publication.published_by_id}, Kind.REVOKED, message.subject_id)
        + _staled_by(publication)
    )


def _answered(message: Message) -> list[Hearing]:
    """Those who were told that the call waits, and the author of the revision it was made under."""
    intent = Intent.objects.select_related("revision").get(pk=message.ids["intent"], workspace_id=message.workspace_id)
    told = Delivery.objects.filter(
        notice__intent=intent, standing__in=[Standing.QUEUED.value, Standing.SENT.value]
    ).values_list("person_id", flat=True)
    people = (set(told) | {intent.revision.author_id}) & members(message.workspace_id)
    return _each(people - {message.ids.get("by")}, Kind.CALL_ANSWERED, intent.pk)


def _handed_over(message: Message) -> list[Hearing]:
    claim = Claim.objects.filter(
        case_id=message.subject_id, case__workspace_id=message.workspace_id, ended_at__isnull=True
    ).first()
    taker = ({claim.person_id} if claim is not None else set()) & members(message.workspace_id)
    return _each(taker - {message.ids.get("by")}, Kind.CALL_HANDED_OVER, message.ids["intent"])


def _token_made(message: Message) -> list[Hearing]:
    token = PersonalToken.objects.get(pk=message.subject_id, workspace_id=message.workspace_id)
    return _each({token.person_id} & members(message.workspace_id), Kind.TOKEN_MADE, token.pk)


RULES: Final[dict[str, Callable[[Message], list[Hearing]]]] = {
    "change_request.submitted": _submitted,
    "change_request.verdict_given": _verdict_given,
    "change_request.withdrawn": _withdrawn,
    "change_request.published": _published,
    "document.revoked": _revoked,
    "case.settled": _answered,
    "case.abandoned": _answered,
    "case.still_unknown": _answered,
    "case.handed_over": _handed_over,
    "personal_token.created": _token_made,
}
#: Told to the outbox, and of no use in a mail: pages show them.
UNHEARD: Final = frozenset({"case.claimed", "case.released", "case.noted", "case.evidence_added"})
