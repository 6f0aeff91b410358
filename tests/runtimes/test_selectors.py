"""What a runtime is given to load, and the board that shows how far each is."""

from __future__ import annotations

from typing import Any

import pytest

from salvor_admin.domain.review import Kind
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace
from salvor_admin.reviews import publishing
from salvor_admin.reviews.models import Document, Publication
from salvor_admin.runtimes import selectors, services
from tests.reviews.factories import a_published_tool
from tests.runtimes.factories import a_runtime

pytestmark = pytest.mark.django_db


def live(workspace: Workspace) -> selectors.LiveCatalogue:
    return selectors.live_catalogue(workspace.pk, [Kind.CLIENT_TOOL])


def test_before_anything_was_published_the_catalogue_is_empty_at_nought(workspace: Workspace) -> None:
    assert live(workspace) == selectors.LiveCatalogue(0, ())


def test_the_catalogue_holds_each_live_document_with_its_revision_and_the_number(
    ada: Actor, grace: Actor, pat: Actor, django_assert_num_queries: Any
) -> None:
    for name in ("zebra", "Zebra", "alpha"):
        a_published_tool(author=ada, reviewer=grace, publisher=pat, name=name)
    with django_assert_num_queries(1):
        catalogue = live(ada.workspace)
    assert catalogue.publication == 3
    assert [(each.key, each.revision) for each in catalogue.documents] == [("Zebra", 1), ("alpha", 1), ("zebra", 1)]


def test_what_was_revoked_is_gone_and_the_number_says_so(ada: Actor, grace: Actor, pat: Actor, root: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    publishing.revoke(document_id=Document.objects.get().pk, reason="It paid twice.", actor=root)
    assert live(ada.workspace) == selectors.LiveCatalogue(2, ())


def test_another_workspaces_documents_are_not_in_it(ada: Actor, grace: Actor, pat: Actor, kim: Actor) -> None:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    assert live(kim.workspace) == selectors.LiveCatalogue(0, ())


def test_the_board_says_since_when_a_runtime_is_behind(
    ada: Actor, grace: Actor, pat: Actor, root: Actor, django_assert_num_queries: Any
) -> None:
    for name in ("one", "two", "three"):
        a_published_tool(author=ada, reviewer=grace, publisher=pat, name=name)
    current, late = a_runtime(admin=root, name="a-current"), a_runtime(admin=root, name="b-late")
    never = a_runtime(admin=root, name="c-never")
    services.record_loaded(runtime_id=current.pk, publication=3)
    services.record_loaded(runtime_id=late.pk, publication=1)
    went_live = dict(Publication.objects.values_list("number", "published_at"))
    with django_assert_num_queries(3):
        board = selectors.board(root.workspace, list(selectors.runtimes(root.workspace.pk)))
    assert [(row.runtime, row.behind, row.behind_since) for row in board] == [
        (current, 0, None),
        (late, 2, went_live[2]),
        (never, 3, went_live[1]),
    ]
