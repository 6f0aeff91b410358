"""Pages over rows that share their timestamps: none twice, none skipped, the same query at any depth."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from salvor_admin.domain.refusals import Refusal
from salvor_admin.people.models import Workspace
from salvor_admin.web.pagination import keyset_page

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 12, 14, 33, 10, tzinfo=UTC)


@pytest.fixture
def rows() -> list[Workspace]:
    return Workspace.objects.bulk_create(
        Workspace(key=f"w-{n:02}", name=str(n % 2), created_at=AT + timedelta(seconds=n // 5)) for n in range(23)
    )


def walk(order: tuple[str, ...], limit: int) -> list[str]:
    seen: list[str] = []
    cursor = None
    while True:
        page = keyset_page(Workspace.objects.all(), order, cursor=cursor, limit=limit)
        seen += [row.key for row in page.rows]
        if page.next_cursor is None:
            return seen
        cursor = page.next_cursor


@pytest.mark.parametrize("limit", [1, 4, 5, 22, 23, 50])
@pytest.mark.parametrize("order", [("created_at", "id"), ("-created_at", "id"), ("name", "-created_at", "-id")])
def test_every_row_is_seen_once_in_order(rows: list[Workspace], order: tuple[str, ...], limit: int) -> None:
    assert walk(order, limit) == list(Workspace.objects.order_by(*order).values_list("key", flat=True))


def test_a_row_that_goes_away_meanwhile_takes_no_other_with_it(rows: list[Workspace]) -> None:
    first = keyset_page(Workspace.objects.all(), ("created_at", "id"), cursor=None, limit=10)
    Workspace.objects.filter(pk=first.rows[-1].pk).delete()
    second = keyset_page(Workspace.objects.all(), ("created_at", "id"), cursor=first.next_cursor, limit=10)
    assert [row.key for row in second.rows] == [f"w-{n:02}" for n in range(10, 20)]


def test_a_page_is_one_query_and_counts_nothing(rows: list[Workspace]) -> None:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        keyset_page(Workspace.objects.all(), ("created_at", "id"), cursor=None, limit=5)
    assert len(queries) == 1
    assert "COUNT" not in queries[0]["sql"]


def test_a_cursor_of_another_order_is_refused(rows: list[Workspace]) -> None:
    page = keyset_page(Workspace.objects.all(), ("created_at", "id"), cursor=None, limit=5)
    with pytest.raises(Refusal, match="bad_request"):
        keyset_page(Workspace.objects.all(), ("-created_at", "id"), cursor=page.next_cursor, limit=5)
