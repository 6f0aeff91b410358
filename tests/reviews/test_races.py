"""Writes of the approval flow, several at once: one wins, the others are told, and what must hold holds."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from salvor_admin.audit import selectors as audit
from salvor_admin.domain import review
from salvor_admin.domain.refusals import Refusal
from salvor_admin.people import services as people
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace
from salvor_admin.reviews import items, publishing, selectors, services
from salvor_admin.reviews.models import (
    ChangeItem,
    ChangeRequest,
    Document,
    Publication,
    PublicationItem,
    Revision,
    Verdict,
)
from salvor_admin.reviews.services import WantedItem
from tests.people.factories import Cast
from tests.races import ROUNDS, THREADS, at_once
from tests.reviews.factories import a_published_tool, a_revision, a_submitted_change, an_approved_change, refund_card

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.races]

APPROVE, REJECT = review.Verdict.APPROVE, review.Verdict.REJECT


def refusals(results: Sequence[object]) -> list[str]:
    """The codes of those that were refused; anything else that was raised is a mistake of ours."""
    unexpected = [each for each in results if isinstance(each, Exception) and not isinstance(each, Refusal)]
    assert unexpected == []
    return sorted(each.code for each in results if isinstance(each, Refusal))


def several(workspace: Workspace, role: str) -> list[Actor]:
    """As many people of one role as there are threads: no two wait for one membership row."""
    cast = Cast(workspace, {f"{role}{number}": [role] for number in range(THREADS)})
    return [cast.actor(name) for name in cast.roles]


def judge(request: ChangeRequest, actor: Actor, verdict: review.Verdict) -> Callable[[], object]:
    return partial(
        services.give_verdict,
        request_id=request.pk,
        actor=actor,
        verdict=verdict,
        digest=request.digest,
        reason="Seen.",
    )


def shuffled(*acts: Callable[[], object]) -> list[Callable[[], object]]:
    return random.sample(acts, len(acts))


def whole(workspace: Workspace) -> bool:
    """Whether the invariants stand: numbers without a gap, one open change a document, what is live was published."""
    for document in Document.objects.filter(workspace=workspace):
        numbers = list(Revision.objects.filter(document=document).order_by("number").values_list("number", flat=True))
        assert numbers == list(range(1, document.last_revision_number + 1))
        assert ChangeItem.objects.filter(document=document, open=True).count() <= 1
        last = PublicationItem.objects.filter(document=document).order_by("-publication__number").first()
        assert document.live_revision_id == (last.revision_id if last else None)
    for request in ChangeRequest.objects.filter(workspace=workspace):
        is_open = ChangeItem.objects.filter(request=request, open=True).exists()
        assert is_open == (request.state in review.OPEN and not request.after_review)
        if not request.after_review:
            assert request.digest == items.digest_of(request) or request.state in review.FINAL
        if request.state == review.State.APPROVED:
            assert review.standing_approvals(selectors.detail(request).facts) >= request.quorum
    published = list(
        Publication.objects.filter(workspace=workspace).order_by("number").values_list("number", flat=True)
    )
    assert published == list(range(1, len(published) + 1))
    assert audit.verdict(workspace.pk, workspace.key).broken is None
    return True


def test_revisions_saved_at_once_are_numbered_without_a_gap(workspace: Workspace) -> None:
    authors = several(workspace, "author")
    for turn in range(ROUNDS):
        body = refund_card(name=f"tool_{turn}")
        results = at_once(
            *[partial(services.save_revision, actor=actor, kind="client_tool", body=body) for actor in authors]
        )
        assert refusals(results) == []
        assert sorted(each.number for each in results if isinstance(each, Revision)) == list(range(1, THREADS + 1))
    assert whole(workspace)


def test_of_edits_begun_from_one_revision_one_is_saved(workspace: Workspace, ada: Actor) -> None:
    authors = several(workspace, "author")
    for turn in range(ROUNDS):
        body = refund_card(name=f"tool_{turn}")
        a_revision(author=ada, name=f"tool_{turn}")
        results = at_once(
            *[
                partial(services.save_revision, actor=actor, kind="client_tool", body=body, begun_from=1)
                for actor in authors
            ]
        )
        assert refusals(results) == ["stale_base"] * (THREADS - 1)
    assert whole(workspace)


def test_one_of_many_opens_a_change_of_a_document(workspace: Workspace, ada: Actor) -> None:
    authors = several(workspace, "author")
    for turn in range(ROUNDS):
        item = WantedItem(a_revision(author=ada, name=f"tool_{turn}").document_id)
        results = at_once(
            *[
                partial(services.open_change_request, actor=actor, items=[item], reason="Now.", submit=True)
                for actor in authors
            ]
        )
        assert refusals(results) == ["change_open"] * (THREADS - 1)
    assert whole(workspace)


def test_one_of_many_submits(workspace: Workspace, ada: Actor) -> None:
    authors = several(workspace, "author")
    for turn in range(ROUNDS):
        draft = services.open_change_request(
            actor=ada, items=[WantedItem(a_revision(author=ada, name=f"tool_{turn}").document_id)]
        )
        results = at_once(
            *[partial(services.submit, request_id=draft.pk, actor=actor, reason=actor.person_name) for actor in authors]
        )
        assert refusals(results) == ["wrong_state"] * (THREADS - 1)
        draft.refresh_from_db()
        assert draft.submitted_by is not None and draft.reason == draft.submitted_by.username
    assert whole(workspace)


def test_one_verdict_of_many_counts_and_the_others_are_told_what_became_of_it(workspace: Workspace, ada: Actor) -> None:
    reviewers = several(workspace, "reviewer")
    for turn in range(ROUNDS):
        request = a_submitted_change(author=ada, name=f"tool_{turn}")
        results = at_once(*[judge(request, actor, APPROVE if at % 2 else REJECT) for at, actor in enumerate(reviewers)])
        assert refusals(results) == ["wrong_state"] * (THREADS - 1)
        (given,) = Verdict.objects.filter(request=request)
        request.refresh_from_db()
        assert request.state == {"approve": "approved", "reject": "rejected"}[given.verdict]
        told = {(each.details["state"], each.details["by"]) for each in results if isinstance(each, Refusal)}
        assert told == {(request.state, given.person.name)}
    assert whole(workspace)


def test_a_rejection_and_a_withdrawal_do_not_both_end_it(workspace: Workspace, ada: Actor) -> None:
    reviewers, authors = several(workspace, "reviewer"), several(workspace, "author")
    for turn in range(ROUNDS):
        request = a_submitted_change(author=ada, name=f"tool_{turn}")
        half = THREADS // 2
        acts = [judge(request, actor, REJECT) for actor in reviewers[:half]] + [
            partial(services.withdraw, request_id=request.pk, actor=actor, reason="Not now.")
            for actor in authors[:half]
        ]
        assert refusals(at_once(*shuffled(*acts))) == ["wrong_state"] * (2 * half - 1)
        request.refresh_from_db()
        assert (request.state == "rejected") == Verdict.objects.filter(request=request).exists()
    assert whole(workspace)


def test_one_of_many_publishes(workspace: Workspace, ada: Actor, grace: Actor) -> None:
    publishers = several(workspace, "publisher")
    for turn in range(ROUNDS):
        request = an_approved_change(author=ada, reviewer=grace, name=f"tool_{turn}")
        results = at_once(*[partial(publishing.publish, request_id=request.pk, actor=actor) for actor in publishers])
        assert refusals(results) == ["wrong_state"] * (THREADS - 1)
    assert Publication.objects.count() == ROUNDS
    assert whole(workspace)


def test_different_changes_published_at_once_each_get_a_number(workspace: Workspace, ada: Actor, grace: Actor) -> None:
    publishers = several(workspace, "publisher")
    for turn in range(ROUNDS):
        requests = [
            an_approved_change(author=ada, reviewer=grace, name=f"tool_{turn}_{number}") for number in range(THREADS)
        ]
        results = at_once(
            *[
                partial(publishing.publish, request_id=request.pk, actor=actor)
                for request, actor in zip(requests, publishers, strict=True)
            ]
        )
        assert refusals(results) == []
    assert whole(workspace)


def test_after_a_publication_and_a_revoke_nothing_is_served(
    workspace: Workspace, ada: Actor, grace: Actor, pat: Actor, root: Actor
) -> None:
    publishers = several(workspace, "publisher")
    for turn in range(ROUNDS):
        name = f"tool_{turn}"
        a_published_tool(author=ada, reviewer=grace, publisher=pat, name=name)
        request = an_approved_change(author=ada, reviewer=grace, name=name, require_equal=None)
        document = Document.objects.get(key=name)
        acts = [partial(publishing.publish, request_id=request.pk, actor=actor) for actor in publishers[1:]]
        results = at_once(
            *shuffled(*acts, partial(publishing.revoke, document_id=document.pk, reason="Now.", actor=root))
        )
        assert set(refusals(results)) <= {"wrong_state"}
        document.refresh_from_db()
        request.refresh_from_db()
        assert document.live_revision_id is None
        assert request.state in {"published", "stale"}
    assert whole(workspace)


def test_one_of_many_revokes(workspace: Workspace, ada: Actor, grace: Actor, pat: Actor) -> None:
    admins = several(workspace, "admin")
    for turn in range(ROUNDS):
        a_published_tool(author=ada, reviewer=grace, publisher=pat, name=f"tool_{turn}")
        document = Document.objects.get(key=f"tool_{turn}")
        results = at_once(
            *[partial(publishing.revoke, document_id=document.pk, reason="Now.", actor=actor) for actor in admins]
        )
        assert refusals(results) == ["wrong_state"] * (THREADS - 1)
    assert whole(workspace)


def test_what_is_approved_is_what_was_read_whoever_edits_meanwhile(workspace: Workspace, ada: Actor) -> None:
    reviewers, authors = several(workspace, "reviewer"), several(workspace, "author")
    for turn in range(ROUNDS):
        name = f"tool_{turn}"
        request = a_submitted_change(author=ada, name=name)
        seen = request.digest
        body = refund_card(name=name, require_equal=None)
        half = THREADS // 2
        acts = [judge(request, actor, APPROVE) for actor in reviewers[:half]] + [
            partial(services.save_revision, actor=actor, kind="client_tool", body=body) for actor in authors[:half]
        ]
        assert set(refusals(at_once(*shuffled(*acts)))) <= {"stale_digest", "wrong_state"}
        request.refresh_from_db()
        assert request.state == "draft" and request.digest != seen
        assert review.standing_approvals(selectors.detail(request).facts) == 0
    assert whole(workspace)


def test_what_goes_live_is_what_was_approved_whoever_edits_meanwhile(
    workspace: Workspace, ada: Actor, grace: Actor
) -> None:
    publishers, authors = several(workspace, "publisher"), several(workspace, "author")
    for turn in range(ROUNDS):
        name = f"tool_{turn}"
        request = an_approved_change(author=ada, reviewer=grace, name=name)
        body = refund_card(name=name, require_equal=None)
        acts = [partial(publishing.publish, request_id=request.pk, actor=actor) for actor in publishers[:2]]
        acts += [partial(services.save_revision, actor=actor, kind="client_tool", body=body) for actor in authors[:2]]
        assert set(refusals(at_once(*shuffled(*acts)))) <= {"wrong_state"}
        live = Document.objects.get(key=name).live_revision
        request.refresh_from_db()
        assert (live.number if live else None, request.state) in {(1, "published"), (None, "draft")}
    assert whole(workspace)


def test_an_approval_beside_its_givers_deactivation_never_brings_anything_live(
    workspace: Workspace, ada: Actor, pat: Actor, root: Actor
) -> None:
    for turn in range(ROUNDS):
        reviewer = Cast(workspace, {f"leaver{turn}": ["reviewer"]}).actor(f"leaver{turn}")
        request = a_submitted_change(author=ada, name=f"tool_{turn}")
        results = at_once(
            *shuffled(
                judge(request, reviewer, APPROVE),
                partial(people.deactivate_person, person_id=reviewer.person_id, reason="left", actor=root),
            )
        )
        assert set(refusals(results)) <= {"not_allowed"}
        with pytest.raises(Refusal) as caught:
            publishing.publish(request_id=request.pk, actor=pat)
        assert caught.value.code in {"quorum_missing", "wrong_state"}
    assert Publication.objects.count() == 0
