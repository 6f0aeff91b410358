"""Who may decide, tried through every door: the page, `/api`, a direct call of the service, and what a command leaves."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from salvor_admin.domain import review
from salvor_admin.domain.refusals import Refusal
from salvor_admin.people import access
from salvor_admin.people import services as people
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Membership, Person
from salvor_admin.reviews import publishing, services
from salvor_admin.reviews.models import ChangeRequest, Document
from salvor_admin.reviews.services import WantedItem
from tests.api.callers import as_person, told
from tests.catalogue.pages import path, signed_in
from tests.reviews.factories import REFUND_CARD, a_published_tool, a_revision, a_submitted_change, an_approved_change
from tests.reviews.test_services import standing

pytestmark = pytest.mark.django_db


class Deciders:
    """The cast with every deciding role, so that only what a rule says stands in the way."""

    def __init__(self, ada: Actor, grace: Actor, pat: Actor, root: Actor) -> None:
        self.ada, self.grace, self.pat, self.root = ada, grace, pat, root

    def with_roles(self, actor: Actor, *roles: str) -> Actor:
        people.change_roles(person_id=actor.person_id, roles=list(roles), actor=self.root)
        return self.fresh(actor)

    def fresh(self, actor: Actor) -> Actor:
        return access.actor_in(actor.person, actor.workspace_key, via="page")


ALL = ("author", "reviewer", "publisher")


@pytest.fixture
def people_here(ada: Actor, grace: Actor, pat: Actor, root: Actor) -> Deciders:
    return Deciders(ada, grace, pat, root)


# --- the doors: each tries one decision and gives the refusal's code, or None where it was taken --------------------------

Door = Callable[[Actor, ChangeRequest, str], str | None]


def by_service(actor: Actor, request: ChangeRequest, verb: str) -> str | None:
    try:
        if verb == "publish":
            publishing.publish(request_id=request.pk, actor=actor, digest=request.digest)
        else:
            services.give_verdict(
                request_id=request.pk,
                actor=actor,
                verdict=review.Verdict(verb),
                digest=request.digest,
                reason="Looked at it.",
            )
    except Refusal as refusal:
        return refusal.code
    return None


def by_page(actor: Actor, request: ChangeRequest, verb: str) -> str | None:
    route = "publish" if verb == "publish" else "verdict"
    answer = signed_in(actor).post(
        path(actor, f"reviews:{route}", request_id=request.pk),
        {"verdict": verb, "digest": request.digest, "reason": "Looked at it."},
    )
    if answer.status_code == 302:
        return None
    found = re.search(r"<h2>Nothing was recorded <code>(\w+)</code>", answer.content.decode())
    assert found is not None, answer.status_code
    return found[1]


def by_api(actor: Actor, request: ChangeRequest, verb: str) -> str | None:
    caller = as_person(actor)
    where = f"/api/change-requests/{request.pk}/"
    if verb == "publish":
        answer = caller.post(where + "publish/", {"digest": request.digest})
    else:
        answer = caller.post(
            where + "verdicts/", {"verdict": verb, "digest": request.digest, "reason": "Looked at it."}
        )
    return None if answer.status_code == 200 else told(answer)[1]


DOORS: dict[str, Door] = {"service": by_service, "page": by_page, "api": by_api}


# --- the rules: each makes a change request and names who tries what, and the code they meet ------------------------------

Rule = Callable[[Deciders], tuple[ChangeRequest, Actor, str]]


def wrote_it_and_approves(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    ada = c.with_roles(c.ada, *ALL)
    return a_submitted_change(author=ada), ada, "approve"


def wrote_it_and_rejects(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    ada = c.with_roles(c.ada, *ALL)
    return a_submitted_change(author=ada), ada, "reject"


def wrote_it_and_publishes(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    ada = c.with_roles(c.ada, *ALL)
    return an_approved_change(author=ada, reviewer=c.grace), ada, "publish"


def edited_an_earlier_revision_and_approves(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    grace = c.with_roles(c.grace, *ALL)
    a_revision(author=grace)
    a_revision(author=c.ada, require_equal=None)
    return a_submitted_change(author=c.ada, idempotency_key=None), grace, "approve"


def edited_an_earlier_revision_and_publishes(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    pat = c.with_roles(c.pat, *ALL)
    a_revision(author=pat)
    return an_approved_change(author=c.ada, reviewer=c.grace, require_equal=None), pat, "publish"


def wrote_one_of_two_documents_and_approves(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    grace = c.with_roles(c.grace, *ALL)
    items = [
        WantedItem(a_revision(author=c.ada).document_id),
        WantedItem(a_revision(author=grace, name="wire_payout").document_id),
    ]
    return services.open_change_request(actor=c.ada, items=items, reason="Two.", submit=True), grace, "approve"


def _rolled_back(c: Deciders, proposer: Actor) -> ChangeRequest:
    a_published_tool(author=c.ada, reviewer=c.grace, publisher=c.pat)
    a_published_tool(author=c.ada, reviewer=c.grace, publisher=c.pat, require_equal=None)
    return services.open_change_request(
        actor=proposer, items=[WantedItem(Document.objects.get().pk, revision=1)], reason="Back.", submit=True
    )


def proposed_a_roll_back_and_approves(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    root = c.with_roles(c.root, "admin", *ALL)
    return _rolled_back(c, root), root, "approve"


def wrote_the_revision_rolled_back_to_and_approves(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    root = c.with_roles(c.root, "admin", *ALL)
    request = _rolled_back(c, root)
    return request, c.with_roles(c.ada, *ALL), "approve"


def proposed_a_removal_and_approves(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    a_published_tool(author=c.ada, reviewer=c.grace, publisher=c.pat)
    root = c.with_roles(c.root, "admin", *ALL)
    request = services.open_change_request(
        actor=root, items=[WantedItem(Document.objects.get().pk, action="remove")], reason="Gone.", submit=True
    )
    return request, root, "approve"


def _taken_out(c: Deciders) -> None:
    a_published_tool(author=c.ada, reviewer=c.grace, publisher=c.pat)
    publishing.revoke(document_id=Document.objects.get().pk, reason="Now.", actor=c.root)


def proposed_what_was_revoked_and_approves(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    _taken_out(c)
    pat = c.with_roles(c.pat, *ALL)
    items = [WantedItem(Document.objects.get().pk, revision=1)]
    return services.open_change_request(actor=pat, items=items, reason="Again.", submit=True), pat, "approve"


def proposed_what_was_revoked_and_publishes(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    request, pat, _ = proposed_what_was_revoked_and_approves(c)
    services.give_verdict(request_id=request.pk, actor=c.grace, verdict=review.Verdict.APPROVE, digest=request.digest)
    return request, pat, "publish"


def proposed_an_old_draft_and_approves(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    """Ada gave her first draft up for a second one, which was withdrawn."""
    a_revision(author=c.ada, require_equal=None)
    withdrawn = a_submitted_change(author=c.ada)
    services.withdraw(request_id=withdrawn.pk, actor=c.ada, reason="Later.")
    grace = c.with_roles(c.grace, *ALL)
    items = [WantedItem(Document.objects.get().pk, revision=1)]
    return services.open_change_request(actor=grace, items=items, reason="The first.", submit=True), grace, "approve"


def revoked_it_and_closes_the_after_review(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    a_published_tool(author=c.ada, reviewer=c.grace, publisher=c.pat)
    root = c.with_roles(c.root, "admin", *ALL)
    publishing.revoke(document_id=Document.objects.get().pk, reason="Now.", actor=root)
    return ChangeRequest.objects.get(after_review=True), root, "approve"


def is_only_an_author(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    bo = c.with_roles(c.pat, "author")
    return a_submitted_change(author=c.ada), bo, "approve"


def is_only_an_admin(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    return a_submitted_change(author=c.ada), c.root, "approve"


def is_a_reviewer_and_publishes(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    return an_approved_change(author=c.ada, reviewer=c.grace), c.grace, "publish"


def is_a_publisher_and_approves(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    return a_submitted_change(author=c.ada), c.pat, "approve"


def imported_it_and_approves(c: Deciders) -> tuple[ChangeRequest, Actor, str]:
    grace = c.with_roles(c.grace, *ALL)
    return _imported(grace), grace, "approve"


RULES: dict[str, tuple[Rule, str]] = {
    "who wrote it may not approve it": (wrote_it_and_approves, "own_revision"),
    "who wrote it may not reject it": (wrote_it_and_rejects, "own_revision"),
    "who wrote it may not publish it": (wrote_it_and_publishes, "own_revision"),
    "who edited an earlier revision may not approve": (edited_an_earlier_revision_and_approves, "own_revision"),
    "who edited an earlier revision may not publish": (edited_an_earlier_revision_and_publishes, "own_revision"),
    "who wrote one of two documents may not approve": (wrote_one_of_two_documents_and_approves, "own_revision"),
    "who proposed a roll-back may not approve it": (proposed_a_roll_back_and_approves, "own_revision"),
    "who wrote what is rolled back to may not approve": (
        wrote_the_revision_rolled_back_to_and_approves,
        "own_revision",
    ),
    "who proposed a removal may not approve it": (proposed_a_removal_and_approves, "own_revision"),
    "who proposed what was revoked may not approve it": (proposed_what_was_revoked_and_approves, "own_revision"),
    "who proposed what was revoked may not publish it": (proposed_what_was_revoked_and_publishes, "own_revision"),
    "who proposed somebody's old draft may not approve it": (proposed_an_old_draft_and_approves, "own_revision"),
    "who revoked may not close the after-review": (revoked_it_and_closes_the_after_review, "own_revision"),
    "who imported it may not approve it": (imported_it_and_approves, "own_revision"),
    "an author who is no reviewer may not approve": (is_only_an_author, "not_allowed"),
    "an admin who is no reviewer may not approve": (is_only_an_admin, "not_allowed"),
    "a reviewer who is no publisher may not publish": (is_a_reviewer_and_publishes, "not_allowed"),
    "a publisher who is no reviewer may not approve": (is_a_publisher_and_approves, "not_allowed"),
}


@pytest.mark.parametrize("is_superuser", [False, True], ids=["person", "superuser"])
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("rule", RULES)
def test_a_barred_person_decides_through_no_door(
    rule: str, door: str, is_superuser: bool, people_here: Deciders
) -> None:
    make, code = RULES[rule]
    request, actor, verb = make(people_here)
    if is_superuser:
        Person.objects.filter(pk=actor.person_id).update(is_superuser=True)
        actor.person.refresh_from_db()
    before = standing()[:-1]
    assert DOORS[door](actor, request, verb) == code
    # The token that `/api` was given is an audit entry of its own; nothing else moved.
    assert standing()[:-1] == before


@pytest.mark.parametrize("door", DOORS)
def test_who_approved_may_publish_when_they_wrote_none_of_it(door: str, people_here: Deciders) -> None:
    grace = people_here.with_roles(people_here.grace, "reviewer", "publisher")
    request = a_submitted_change(author=people_here.ada)
    assert DOORS[door](grace, request, "approve") is None
    assert DOORS[door](grace, request, "publish") is None


@pytest.mark.parametrize("door", DOORS)
def test_whose_edit_is_live_already_may_decide_on_the_next(door: str, people_here: Deciders) -> None:
    grace = people_here.with_roles(people_here.grace, *ALL)
    bo = people.create_person(username="bo", roles=["reviewer"], actor=people.Shell(grace.workspace)).person
    reviewer = access.actor_in(bo, grace.workspace_key, via="page")
    a_published_tool(author=grace, reviewer=reviewer, publisher=people_here.pat)
    request = a_submitted_change(author=people_here.ada, require_equal=None)
    assert DOORS[door](grace, request, "approve") is None


@pytest.mark.parametrize("door", ["service", "api"])
def test_a_role_taken_a_moment_ago_decides_nothing_any_more(door: str, people_here: Deciders) -> None:
    request = a_submitted_change(author=people_here.ada)
    stale_actor = people_here.grace
    Membership.objects.filter(person=people_here.grace.person).update(roles=["viewer"])
    assert DOORS[door](stale_actor, request, "approve") == "not_allowed"


def test_a_deactivated_reviewers_page_token_and_open_actor_decide_nothing(people_here: Deciders) -> None:
    request = a_submitted_change(author=people_here.ada)
    browser, caller = signed_in(people_here.grace), as_person(people_here.grace)
    people.deactivate_person(person_id=people_here.grace.person_id, reason="left", actor=people_here.root)
    before = standing()
    page = browser.post(
        path(people_here.grace, "reviews:verdict", request_id=request.pk),
        {"verdict": "approve", "digest": request.digest},
    )
    answer = caller.post(
        f"/api/change-requests/{request.pk}/verdicts/", {"verdict": "approve", "digest": request.digest}
    )
    assert (page.status_code, answer.status_code) == (401, 401)
    assert by_service(people_here.grace, request, "approve") == "not_allowed"
    assert standing() == before


# --- the import command ------------------------------------------------------------------------------------------------


def _imported(actor: Actor) -> ChangeRequest:
    out = StringIO()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "refund_card.toml"
        file.write_bytes(REFUND_CARD)
        who = ["--as", actor.person_name, "--workspace", actor.workspace_key]
        call_command("import_client_tool", str(file), *who, "--submit", stdout=out)
    return ChangeRequest.objects.get(pk=out.getvalue().splitlines()[-1])


@pytest.mark.parametrize("who", ["grace", "pat", "root"])
def test_the_import_command_drafts_only_for_an_author(who: str, people_here: Deciders, tmp_path: Path) -> None:
    actor: Actor = getattr(people_here, who)
    Person.objects.filter(pk=actor.person_id).update(is_superuser=True)
    (tmp_path / "tool.toml").write_bytes(REFUND_CARD)
    before = standing()
    with pytest.raises(CommandError) as caught:
        call_command(
            "import_client_tool",
            str(tmp_path / "tool.toml"),
            "--as",
            actor.person_name,
            "--workspace",
            actor.workspace_key,
            stdout=StringIO(),
        )
    assert "[not_allowed]" in str(caught.value) and "author" in str(caught.value)
    assert standing() == before


def test_the_import_command_submits_and_decides_nothing(people_here: Deciders) -> None:
    request = _imported(people_here.ada)
    assert (request.state, request.verdicts.count()) == ("in_review", 0)
    assert Document.objects.get().live_revision is None
