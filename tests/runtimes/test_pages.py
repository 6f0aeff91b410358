"""The board of runtimes and one runtime's page."""

from __future__ import annotations

import pytest
from django.test import Client

from salvor_admin.people.access import Actor
from salvor_admin.runtimes import services
from salvor_admin.runtimes.models import Runtime, RuntimeToken
from tests.people.factories import PASSWORD
from tests.reviews.factories import a_published_tool
from tests.runtimes.factories import a_runtime

pytestmark = pytest.mark.django_db


def signed_in(name: str) -> Client:
    client = Client()
    assert client.login(username=name, password=PASSWORD)
    return client


def test_a_registered_runtimes_token_is_shown_once(root: Actor) -> None:
    client = signed_in("root")
    board = f"/w/{root.workspace_key}/runtimes/"
    made = client.post(f"{board}register/", {"name": "payouts-1", "lease_ttl_seconds": "60"})
    assert made.status_code == 201 and 'class="secret">srt_' in made.content.decode()
    page = client.get(f"{board}{Runtime.objects.get().pk}/").content.decode()
    assert "srt_" not in page and "first" in page


def test_a_name_that_is_taken_is_told_at_its_field(root: Actor) -> None:
    a_runtime(admin=root)
    client = signed_in("root")
    reply = client.post(f"/w/{root.workspace_key}/runtimes/register/", {"name": "payouts-1", "lease_ttl_seconds": "60"})
    assert (reply.status_code, Runtime.objects.count()) == (422, 1)
    assert reply.context["form"].errors["name"]


def test_the_board_says_who_is_behind(ada: Actor, grace: Actor, pat: Actor, root: Actor) -> None:
    runtime = a_runtime(admin=root)
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    (row,) = signed_in("ada").get(f"/w/{root.workspace_key}/runtimes/").context["rows"]
    assert (row.runtime, row.behind) == (runtime, 1)
    services.record_loaded(runtime_id=runtime.pk, publication=1)
    (row,) = signed_in("ada").get(f"/w/{root.workspace_key}/runtimes/").context["rows"]
    assert (row.behind, row.behind_since) == (0, None)


def test_a_revoked_token_is_shown_as_such(root: Actor) -> None:
    runtime = a_runtime(admin=root)
    made = services.create_runtime_token(runtime_id=runtime.pk, actor=root, name="night batch")
    client = signed_in("root")
    client.post(f"/w/{root.workspace_key}/runtimes/tokens/{made.row.pk}/revoke/")
    assert RuntimeToken.objects.get().revoked_at is not None
    assert "Revoked" in client.get(f"/w/{root.workspace_key}/runtimes/{runtime.pk}/").content.decode()


def test_a_change_nobody_knows_changes_nothing(root: Actor) -> None:
    runtime = a_runtime(admin=root)
    reply = signed_in("root").post(f"/w/{root.workspace_key}/runtimes/{runtime.pk}/change/", {"change": "promote"})
    assert reply.status_code == 400
    assert Runtime.objects.values_list("is_active", "labels_believed").get() == (True, False)


@pytest.mark.parametrize("rows", [1, 10])
def test_the_board_asks_the_same_questions_for_one_and_for_ten(
    rows: int, root: Actor, django_assert_num_queries: object
) -> None:
    for number in range(rows):
        a_runtime(admin=root, name=f"payouts-{number}")
    client = signed_in("root")
    with django_assert_num_queries(9):  # type: ignore[operator]
        assert client.get(f"/w/{root.workspace_key}/runtimes/").status_code == 200


@pytest.mark.parametrize("rows", [1, 10])
def test_a_runtimes_page_asks_the_same_questions_for_one_token_and_for_ten(
    rows: int, root: Actor, django_assert_num_queries: object
) -> None:
    runtime = a_runtime(admin=root)
    for _ in range(rows):
        services.create_runtime_token(runtime_id=runtime.pk, actor=root)
    client = signed_in("root")
    with django_assert_num_queries(9):  # type: ignore[operator]
        assert client.get(f"/w/{root.workspace_key}/runtimes/{runtime.pk}/").status_code == 200
