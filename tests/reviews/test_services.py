"""The approval flow through its services."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC
from typing import Any

import pytest

from salvor_admin.audit import selectors as audit_selectors
from salvor_admin.audit.models import Entry
from salvor_admin.domain import review
from salvor_admin.domain.refusals import Refusal
from salvor_admin.people import services as people
from salvor_admin.people.access import Actor
from salvor_admin.reviews import publishing, services
from salvor_admin.reviews.models import ChangeItem, ChangeRequest, Document, Finding, Publication, Revision, Verdict
from salvor_admin.reviews.services import WantedItem
from tests.reviews.factories import (
    a_published_tool,
    a_revision,
    a_submitted_change,
    an_approved_change,
    refund_card,
)

pytestmark = pytest.mark.django_db


def standing() -> tuple[Any, ...]:
    """Everything a refusal must leave as it was."""
    return (
        list(ChangeRequest.objects.order_by("pk").values_list("state", "digest", "version")),
        list(ChangeItem.objects.order_by("pk").values_list("revision_id", "base_id", "open")),
        Verdict.objects.count(),
        Publication.objects.count(),
        Revision.objects.count(),
        list(Document.objects.order_by("pk").values_list("live_revision_id", flat=True)),
        Entry.objects.count(),
    )


def refused(act: Callable[[], object]) -> Refusal:
    """The refusal of an act that must move nothing."""
    before = standing()
    with pytest.raises(Refusal) as caught:
        act()
    assert standing() == before
    return caught.value


def test_a_saved_revision_is_numbered_and_audited_with_its_digest(ada: Actor) -> None:
    revision = a_revision(author=ada)
    entry = Entry.objects.get(action="revision.saved")
    assert (revision.number, revision.digest in entry.text, entry.actor_name) == (1, True, "ada")


def test_a_second_save_is_a_new_row_and_leaves_the_first_alone(ada: Actor) -> None:
    first = a_revision(author=ada)
    second = a_revision(author=ada, require_equal=[])
    assert (second.number, Revision.objects.get(pk=first.pk).body) == (2, first.body)


def test_only_an_author_saves_a_revision(grace: Actor, ada: Actor) -> None:
    refusal = refused(lambda: a_revision(author=grace))
    assert (refusal.code, "ada" in refusal.message) == ("not_allowed", True)


def test_the_whole_way_from_draft_to_live(ada: Actor, grace: Actor, pat: Actor) -> None:
    publication = a_published_tool(author=ada, reviewer=grace, publisher=pat)
    document = Document.objects.get(key="refund_card")
    assert publication.number == 1
    assert document.live_revision is not None and document.live_revision.number == 1
    assert ChangeRequest.objects.get().state == "published"


def test_the_audit_trail_says_who_did_what_on_which_digest(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    request = ChangeRequest.objects.get()
    acts = [
        (entry.action, entry.actor_name)
        for entry in Entry.objects.filter(subject_kind="change_request").order_by("number")
        if request.digest in entry.text
    ]
    assert acts == [
        ("change_request.opened", "ada"),
        ("change_request.submitted", "ada"),
        ("change_request.verdict_given", "grace"),
        ("change_request.published", "pat"),
    ]


def test_the_chain_is_whole_after_the_whole_way(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    assert audit_selectors.verdict(ada.workspace_id, ada.workspace_key).broken is None


def test_an_author_who_is_a_reviewer_may_not_judge_their_own_revision(ada: Actor, root: Actor) -> None:
    people.change_roles(person_id=ada.person_id, roles=["author", "reviewer", "publisher"], actor=root)
    request = a_submitted_change(author=ada)
    refusal = refused(
        lambda: services.give_verdict(
            request_id=request.pk, actor=ada, verdict=review.Verdict.APPROVE, digest=request.digest
        )
    )
    assert refusal.code == "own_revision"


def test_being_a_superuser_does_not_lift_the_bar(ada: Actor, root: Actor) -> None:
    people.change_roles(person_id=ada.person_id, roles=["author", "reviewer"], actor=root)
    type(ada.person).objects.filter(pk=ada.person_id).update(is_superuser=True)
    request = a_submitted_change(author=ada)
    refusal = refused(
        lambda: services.give_verdict(
            request_id=request.pk, actor=ada, verdict=review.Verdict.REJECT, digest=request.digest, reason="no"
        )
    )
    assert refusal.code == "own_revision"


def test_an_author_who_is_a_publisher_may_not_publish_their_own_revision(ada: Actor, grace: Actor, root: Actor) -> None:
    people.change_roles(person_id=ada.person_id, roles=["author", "publisher"], actor=root)
    request = an_approved_change(author=ada, reviewer=grace)
    refusal = refused(lambda: publishing.publish(request_id=request.pk, actor=ada))
    assert refusal.code == "own_revision"


def test_a_stale_digest_approves_nothing(ada: Actor, grace: Actor) -> None:
    request = a_submitted_change(author=ada)
    refusal = refused(
        lambda: services.give_verdict(
            request_id=request.pk, actor=grace, verdict=review.Verdict.APPROVE, digest="sha256:" + "0" * 64
        )
    )
    assert (refusal.code, refusal.details["digest"]) == ("stale_digest", request.digest)


def test_a_second_verdict_is_refused_once_it_is_decided(ada: Actor, grace: Actor) -> None:
    request = an_approved_change(author=ada, reviewer=grace)
    refusal = refused(
        lambda: services.give_verdict(
            request_id=request.pk, actor=grace, verdict=review.Verdict.REJECT, digest=request.digest, reason="no"
        )
    )
    assert (refusal.code, refusal.details["state"]) == ("wrong_state", "approved")


def test_whoever_comes_second_is_told_who_was_first_and_when(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    request = ChangeRequest.objects.get()
    refusal = refused(lambda: publishing.publish(request_id=request.pk, actor=pat))
    assert request.moved_at is not None
    at = request.moved_at.astimezone(UTC)
    assert f"published since {at:%d %B %Y, %H:%M:%S} UTC, by Pat Lindqvist" in refusal.message
    assert refusal.details == {"state": "published", "by": "Pat Lindqvist", "at": at.isoformat()}


def test_every_move_of_a_change_request_counts(ada: Actor, grace: Actor, pat: Actor) -> None:
    revision = a_revision(author=ada)
    request = services.open_change_request(actor=ada, items=[WantedItem(revision.document_id)])
    seen = []
    for act in (
        lambda: services.submit(request_id=request.pk, actor=ada, reason="Now."),
        lambda: a_revision(author=ada, require_equal=None),
        lambda: services.submit(request_id=request.pk, actor=ada, reason="Again."),
        lambda: services.give_verdict(
            request_id=request.pk, actor=grace, verdict=review.Verdict.APPROVE, digest=request.digest
        ),
        lambda: publishing.publish(request_id=request.pk, actor=pat),
    ):
        act()
        request.refresh_from_db()
        seen.append((request.version, request.state, request.moved_by))
    versions = [version for version, _, _ in seen]
    assert versions == sorted(set(versions))
    assert [(state, by and by.username) for _, state, by in seen] == [
        ("in_review", "ada"),
        ("draft", "ada"),
        ("in_review", "ada"),
        ("approved", "grace"),
        ("published", "pat"),
    ]


def test_a_second_publish_is_refused(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    request = ChangeRequest.objects.get()
    assert refused(lambda: publishing.publish(request_id=request.pk, actor=pat)).code == "wrong_state"


def test_what_is_not_approved_is_not_published(ada: Actor, pat: Actor) -> None:
    request = a_submitted_change(author=ada)
    assert refused(lambda: publishing.publish(request_id=request.pk, actor=pat)).code == "wrong_state"


def test_another_workspaces_change_request_is_not_there(ada: Actor, kim: Actor) -> None:
    request = a_submitted_change(author=ada)
    refusal = refused(
        lambda: services.give_verdict(
            request_id=request.pk, actor=kim, verdict=review.Verdict.APPROVE, digest=request.digest
        )
    )
    assert refusal.code == "not_found"


def test_a_new_revision_voids_the_approval_and_brings_the_request_back_to_a_draft(ada: Actor, grace: Actor) -> None:
    request = an_approved_change(author=ada, reviewer=grace)
    before = request.digest
    a_revision(author=ada, idempotency_key=[])
    request.refresh_from_db()
    assert request.state == "draft" and request.digest != before
    assert Verdict.objects.get().digest == before


def test_changes_requested_then_edited_then_submitted_again_can_be_approved(ada: Actor, grace: Actor) -> None:
    request = a_submitted_change(author=ada)
    services.give_verdict(
        request_id=request.pk,
        actor=grace,
        verdict=review.Verdict.REQUEST_CHANGES,
        digest=request.digest,
        reason="Pin the currency.",
    )
    a_revision(author=ada, idempotency_key=[])
    again = services.submit(request_id=request.pk, actor=ada, reason="Without the identity.")
    approved = services.give_verdict(
        request_id=request.pk, actor=grace, verdict=review.Verdict.APPROVE, digest=again.digest
    )
    assert approved.state == "approved"


def test_a_document_held_by_an_open_change_takes_no_second_one(ada: Actor) -> None:
    request = a_submitted_change(author=ada)
    document = Document.objects.get()
    refusal = refused(
        lambda: services.open_change_request(actor=ada, items=[WantedItem(document.pk)], reason="again", submit=True)
    )
    assert (refusal.code, refusal.details["change_request"]) == ("change_open", str(request.pk))


def test_a_rejected_change_is_final_and_frees_its_documents(ada: Actor, grace: Actor) -> None:
    request = a_submitted_change(author=ada)
    services.give_verdict(
        request_id=request.pk, actor=grace, verdict=review.Verdict.REJECT, digest=request.digest, reason="Not this."
    )
    assert not ChangeItem.objects.filter(open=True).exists()
    assert a_submitted_change(author=ada, require_equal=[]).number == 2


def test_a_blocking_finding_needs_an_acknowledgement_with_a_reason(ada: Actor, grace: Actor) -> None:
    request = a_submitted_change(author=ada, effect="read", trust_completion=False, require_equal=[])
    refusal = refused(
        lambda: services.give_verdict(
            request_id=request.pk, actor=grace, verdict=review.Verdict.APPROVE, digest=request.digest
        )
    )
    assert refusal.code == "finding_unacknowledged"
    assert refusal.place is not None
    approved = services.give_verdict(
        request_id=request.pk,
        actor=grace,
        verdict=review.Verdict.APPROVE,
        digest=request.digest,
        acknowledge={refusal.place: "People settle these on purpose."},
    )
    assert approved.state == "approved"


def test_a_roll_back_points_at_an_old_revision(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    a_published_tool(author=ada, reviewer=grace, publisher=pat, require_equal=[])
    document = Document.objects.get()
    request = services.open_change_request(
        actor=ada, items=[WantedItem(document.pk, revision=1)], reason="Back to pins.", submit=True
    )
    services.give_verdict(request_id=request.pk, actor=grace, verdict=review.Verdict.APPROVE, digest=request.digest)
    publishing.publish(request_id=request.pk, actor=pat)
    document.refresh_from_db()
    assert document.live_revision is not None and document.live_revision.number == 1


def test_who_proposes_a_roll_back_may_not_approve_it(ada: Actor, grace: Actor, pat: Actor, root: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    a_published_tool(author=ada, reviewer=grace, publisher=pat, require_equal=[])
    people.change_roles(person_id=grace.person_id, roles=["author", "reviewer"], actor=root)
    document = Document.objects.get()
    request = services.open_change_request(
        actor=grace, items=[WantedItem(document.pk, revision=1)], reason="Back.", submit=True
    )
    refusal = refused(
        lambda: services.give_verdict(
            request_id=request.pk, actor=grace, verdict=review.Verdict.APPROVE, digest=request.digest
        )
    )
    assert refusal.code == "own_revision"


def test_a_removal_takes_the_document_out_of_service(ada: Actor, grace: Actor, pat: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    document = Document.objects.get()
    request = services.open_change_request(
        actor=ada, items=[WantedItem(document.pk, action="remove")], reason="Not needed.", submit=True
    )
    services.give_verdict(request_id=request.pk, actor=grace, verdict=review.Verdict.APPROVE, digest=request.digest)
    publishing.publish(request_id=request.pk, actor=pat)
    document.refresh_from_db()
    assert document.live_revision is None


def test_a_revoke_acts_at_once_and_leaves_a_review_open(ada: Actor, grace: Actor, pat: Actor, root: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    document = Document.objects.get()
    publication = publishing.revoke(document_id=document.pk, reason="Doubled refunds.", actor=root)
    document.refresh_from_db()
    after = ChangeRequest.objects.get(after_review=True)
    assert (publication.number, document.live_revision, after.state) == (2, None, "in_review")


def test_a_reviewer_closes_the_review_of_a_revoke(ada: Actor, grace: Actor, pat: Actor, root: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    publishing.revoke(document_id=Document.objects.get().pk, reason="Doubled refunds.", actor=root)
    after = ChangeRequest.objects.get(after_review=True)
    services.give_verdict(request_id=after.pk, actor=grace, verdict=review.Verdict.APPROVE, digest=after.digest)
    after.refresh_from_db()
    assert after.state == "published"
    assert Entry.objects.filter(action="change_request.after_review_closed").count() == 1


def test_the_review_of_a_revoke_is_closed_by_a_reviewer_and_by_nothing_else(
    ada: Actor, grace: Actor, pat: Actor, root: Actor
) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    publishing.revoke(document_id=Document.objects.get().pk, reason="Doubled refunds.", actor=root)
    after = ChangeRequest.objects.get(after_review=True)
    for act in (
        lambda: services.withdraw(request_id=after.pk, actor=ada, reason="Not needed."),
        lambda: services.give_verdict(
            request_id=after.pk,
            actor=grace,
            verdict=review.Verdict.REQUEST_CHANGES,
            digest=after.digest,
            reason="Say more.",
        ),
    ):
        assert refused(act).code == "wrong_state"
    services.give_verdict(
        request_id=after.pk, actor=grace, verdict=review.Verdict.REJECT, digest=after.digest, reason="Needless."
    )
    after.refresh_from_db()
    assert after.state == "rejected"


@pytest.mark.parametrize(("words", "code"), [("a\0b", "bad_request"), ("x" * 10_001, "reason_too_long")])
def test_an_acknowledgement_is_held_to_what_a_reason_is(ada: Actor, grace: Actor, words: str, code: str) -> None:
    request = a_submitted_change(author=ada, effect="read", trust_completion=False, require_equal=[])
    finding = str(Finding.objects.get(severity="block").pk)
    refusal = refused(
        lambda: services.give_verdict(
            request_id=request.pk,
            actor=grace,
            verdict=review.Verdict.APPROVE,
            digest=request.digest,
            acknowledge={finding: words},
        )
    )
    assert (refusal.code, refusal.place) == (code, finding)


def test_a_document_of_another_workspace_is_missing_though_a_draft_holds_it(ada: Actor, kim: Actor) -> None:
    theirs = services.open_change_request(actor=kim, items=[WantedItem(a_revision(author=kim).document_id)])
    document = ChangeItem.objects.get(request=theirs).document_id
    hidden = refused(lambda: services.open_change_request(actor=ada, items=[WantedItem(document)]))
    missing = refused(lambda: services.open_change_request(actor=ada, items=[WantedItem(uuid.uuid4())]))
    assert (hidden.code, hidden.message) == (missing.code, missing.message)


def test_a_revoke_makes_the_open_change_stale(ada: Actor, grace: Actor, pat: Actor, root: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    request = an_approved_change(author=ada, reviewer=grace, require_equal=[])
    publishing.revoke(document_id=Document.objects.get().pk, reason="Doubled refunds.", actor=root)
    request.refresh_from_db()
    assert request.state == "stale"
    assert refused(lambda: publishing.publish(request_id=request.pk, actor=pat)).code == "wrong_state"


def test_a_deactivated_reviewers_approval_counts_no_more(ada: Actor, grace: Actor, pat: Actor, root: Actor) -> None:
    request = an_approved_change(author=ada, reviewer=grace)
    people.deactivate_person(person_id=grace.person_id, reason="left", actor=root)
    refusal = refused(lambda: publishing.publish(request_id=request.pk, actor=pat))
    assert refusal.code == "quorum_missing"


def test_a_submission_needs_a_reason(ada: Actor) -> None:
    revision = a_revision(author=ada)
    refusal = refused(
        lambda: services.open_change_request(
            actor=ada, items=[WantedItem(revision.document_id)], reason="  ", submit=True
        )
    )
    assert (refusal.code, refusal.place) == ("reason_missing", "reason")


def test_an_unknown_key_is_refused_by_name_and_saves_nothing(ada: Actor) -> None:
    body = refund_card(require_eqal=["amount_cents"])
    refusal = refused(lambda: services.save_revision(actor=ada, kind="client_tool", body=body))
    assert "require_eqal" in refusal.message
