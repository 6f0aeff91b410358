"""Letters about change requests, publications and tokens."""

from __future__ import annotations

from datetime import datetime

from django.urls import reverse

from salvor_admin.delivery import recipients
from salvor_admin.delivery.letters import Letter, Moot, named
from salvor_admin.delivery.models import Delivery
from salvor_admin.delivery.plain_text import on_one_line, quoted
from salvor_admin.domain.mailing import Kind
from salvor_admin.domain.review import NEXT_STEP, State
from salvor_admin.domain.review import Verdict as Word
from salvor_admin.outbox.models import Message
from salvor_admin.people.models import Person, PersonalToken
from salvor_admin.reviews import selectors as reviews
from salvor_admin.reviews.models import ChangeItem, ChangeRequest, Document, Verdict
from salvor_admin.web import times

_NAMED_ITEMS = 5
_STAYS = "What is live now stays live."


def review_asked(delivery: Delivery, now: datetime) -> Letter:
    request, message = _request(delivery), _message(delivery)
    if recipients.is_superseded(message, request):
        raise Moot("The change was decided, withdrawn or submitted anew before this was sent.")
    return _of_request(
        delivery,
        request,
        state="Asked to review",
        age=f"submitted {times.span(now - message.created_at)} ago",
        why=f"you are a reviewer in {delivery.workspace.key} and wrote none of it.",
        if_nobody_acts=f"Nothing of it goes live, and nobody's silence counts as approval. {_STAYS}",
        facts=(("Submitted by", _name(request.submitted_by)),),
        words=request.reason,
    )


def publishing_asked(delivery: Delivery, now: datetime) -> Letter:
    request = _request(delivery)
    if request.state != State.APPROVED:
        raise Moot(f"The change was {_spoken(request.state)} before this was sent.")
    return _of_request(
        delivery,
        request,
        state="Asked to publish",
        age=f"approved {times.span(now - _message(delivery).created_at)} ago",
        why=f"you are a publisher in {delivery.workspace.key} and wrote none of it.",
        if_nobody_acts=f"It stays approved and is not served. {_STAYS}",
        words=request.reason,
    )


_VERDICTS = {
    Word.APPROVE: "Approved",
    Word.REQUEST_CHANGES: "Changes requested",
    Word.REJECT: "Rejected",
}


def verdict_given(delivery: Delivery, now: datetime) -> Letter:
    request = _request(delivery)
    verdict = Verdict.objects.select_related("person").get(pk=_message(delivery).ids["verdict"], request=request)
    if request.after_review:
        rest = "Nothing is left to do; the revoke stands until the document is published again."
    else:
        rest = f"{NEXT_STEP[State(request.state)]} {'' if request.state == State.PUBLISHED else _STAYS}".strip()
    return _of_request(
        delivery,
        request,
        state=_VERDICTS[Word(verdict.verdict)],
        age=f"{times.span(now - verdict.given_at)} ago",
        why="you wrote a part of it, proposed it, or it takes away what you wrote.",
        if_nobody_acts=rest,
        facts=(("Verdict by", _name(verdict.person)), ("Now", _spoken(request.state))),
        words=verdict.reason,
    )


def withdrawn(delivery: Delivery, now: datetime) -> Letter:
    by = Person.objects.filter(pk=_message(delivery).ids.get("by")).first()
    return _of_request(
        delivery,
        _request(delivery),
        state="Withdrawn",
        age=f"{times.span(now - _message(delivery).created_at)} ago",
        why="you wrote a part of it, proposed it, or gave a verdict on it.",
        if_nobody_acts=f"{NEXT_STEP[State.WITHDRAWN]} {_STAYS}",
        facts=(("Withdrawn by", _name(by)),) if by else (),
    )


def published(delivery: Delivery, now: datetime) -> Letter:
    publication = recipients.publication_of(_message(delivery))
    return _of_request(
        delivery,
        _request(delivery),
        state="Live",
        age=f"{times.span(now - publication.published_at)} ago",
        why="you wrote a part of it, proposed it, or it takes away what you wrote.",
        if_nobody_acts="Nothing is left to do: runtimes fetch it by themselves, and the board shows which have.",
        facts=(("Published by", _name(publication.published_by)), ("Publication", str(publication.number))),
    )


def staled(delivery: Delivery, now: datetime) -> Letter:
    request = _request(delivery)
    if request.state != State.STALE:
        raise Moot(f"The change was {_spoken(request.state)} before this was sent.")
    return _of_request(
        delivery,
        request,
        state="Stale",
        age=f"{times.span(now - _message(delivery).created_at)} ago",
        why="you wrote a part of it, or proposed it.",
        if_nobody_acts="It cannot be approved or published as it is; a new revision on top of what is live now brings "
        f"it back. {_STAYS}",
    )


def revoked(delivery: Delivery, now: datetime) -> Letter:
    """A document taken out of service at once; a reviewer is asked to look back at it."""
    publication = recipients.publication_of(_message(delivery))
    document = Document.objects.get(pk=delivery.subject_id, workspace_id=delivery.workspace_id)
    asked = delivery.kind == Kind.LOOK_BACK_ASKED
    after = publication.request
    if after is None:
        raise RuntimeError("a revoke opens a review")
    if asked and after.state != State.IN_REVIEW:
        raise Moot("The review of the revoke was closed before this was sent.")
    key = delivery.workspace.key
    return Letter(
        kind=Kind(delivery.kind),
        state="Revoked, look back" if asked else "Revoked",
        about=on_one_line(document.label),
        age=f"{times.span(now - publication.published_at)} ago",
        path=reverse("reviews:change_request", args=[key, after.pk]),
        why=f"you are a reviewer in {key}, and a reviewer looks back at what an admin took out of service at once."
        if asked
        else f"you wrote what was live, or you are a publisher in {key}.",
        if_nobody_acts="It stays out of service until it is published again, and the review of the revoke stays open.",
        facts=(("Revoked by", _name(publication.published_by)), ("Publication", str(publication.number))),
        quoted=quoted(publication.reason),
    )


def token_made(delivery: Delivery, now: datetime) -> Letter:
    token = PersonalToken.objects.get(pk=delivery.subject_id, person_id=delivery.person_id)
    until = token.revoked_at or token.expires_at
    return Letter(
        kind=Kind.TOKEN_MADE,
        state="Token made",
        about=on_one_line(token.name),
        age=f"{times.span(now - token.created_at)} ago",
        path=reverse("people:settings", args=[delivery.workspace.key]),
        why="the token speaks for you. It is not in this mail.",
        if_nobody_acts="It works until its end. If you did not ask for it, revoke it on that page and tell an admin.",
        facts=(("Scope", token.scope), ("Ends" if until > now else "Ended", times.absolute(until))),
    )


def _of_request(
    delivery: Delivery,
    request: ChangeRequest,
    *,
    state: str,
    age: str,
    why: str,
    if_nobody_acts: str,
    facts: tuple[tuple[str, str], ...] = (),
    words: str = "",
) -> Letter:
    items = reviews.items_of(request)
    more = f" and {len(items) - 1} more" if len(items) > 1 else ""
    return Letter(
        kind=Kind(delivery.kind),
        state=state,
        about=(on_one_line(items[0].document.label) if items else str(request)) + more,
        age=age,
        path=reverse("reviews:change_request", args=[delivery.workspace.key, request.pk]),
        why=why,
        if_nobody_acts=if_nobody_acts,
        facts=(("Change", str(request)), *facts, *_items(items)),
        quoted=quoted(words) if words else "",
    )


def _items(items: list[ChangeItem]) -> list[tuple[str, str]]:
    shown = [
        (
            "Removes" if item.revision is None else "Sets",
            on_one_line(item.document.label) + (f", revision {item.revision.number}" if item.revision else ""),
        )
        for item in items[:_NAMED_ITEMS]
    ]
    return [*shown, ("And", f"{len(items) - _NAMED_ITEMS} more")] if len(items) > _NAMED_ITEMS else shown


def _request(delivery: Delivery) -> ChangeRequest:
    return ChangeRequest.objects.select_related("submitted_by").get(
        pk=delivery.subject_id, workspace_id=delivery.workspace_id
    )


def _message(delivery: Delivery) -> Message:
    if delivery.message is None:
        raise RuntimeError("a decision is told by a message")
    return delivery.message


def _name(person: Person | None) -> str:
    return named(person.name, person.username) if person is not None else "nobody known"


def _spoken(state: str) -> str:
    return state.replace("_", " ")
