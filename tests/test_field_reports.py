"""Trouble that others met in the stack beneath, handled by kind: pages, the trail, the broker, text that is not ours."""

from __future__ import annotations

import re
from importlib.metadata import version

import pytest
from django.conf import settings
from django.test import Client, override_settings

from salvor_admin.people import services as people
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace
from salvor_admin.reviews import services as reviews
from salvor_admin.reviews.models import ChangeRequest
from tests.people.factories import PASSWORD, Cast
from tests.reviews.factories import a_revision, a_submitted_change, refund_card

pytestmark = pytest.mark.django_db

NOWHERE = {"REDIS_URL": "unix:///nowhere/at/all.sock", "CELERY_BROKER_URL": "redis+socket:///nowhere/at/all.sock"}
HOSTILE = (
    '<button hx-post="/grants/9/approve" hx-trigger="load">x</button><script>alert(1)</script>\u200b\u202e\U000e0041'
)


def signed_in(name: str) -> Client:
    client = Client()
    assert client.login(username=name, password=PASSWORD)
    return client


@override_settings(**NOWHERE)
def test_an_approval_is_stored_while_the_broker_is_away(ada: Actor, grace: Actor) -> None:
    """Reports 113 and 115: the row is the queue, so nobody waits for a broker and nothing is lost."""
    request = a_submitted_change(author=ada)
    reply = signed_in("grace").post(
        f"/w/{ada.workspace_key}/reviews/{request.pk}/verdict/", {"verdict": "approve", "digest": request.digest}
    )
    assert reply.status_code == 302
    assert ChangeRequest.objects.get(pk=request.pk).state == "approved"


@override_settings(**NOWHERE)
def test_readiness_reports_the_broker_without_failing_on_it(db: None) -> None:
    reply = Client().get("/readyz")
    assert (reply.status_code, reply.json()["broker"]) == (200, "unreachable")


def test_foreign_words_reach_a_page_as_text_alone(ada: Actor) -> None:
    """Reports 104, 105 and 38: markup and htmx attributes are escaped, hidden characters are drawn."""
    body = refund_card(
        input_schema={
            "type": "object",
            "required": ["order_id", "amount_cents"],
            "properties": {
                "order_id": {"type": "string", "description": HOSTILE},
                "amount_cents": {"type": "integer"},
            },
        }
    )
    saved = reviews.save_revision(actor=ada, kind="client_tool", body=body)
    page = signed_in("ada").get(f"/w/{ada.workspace_key}/tools/{saved.document_id}/").content.decode()
    assert "&lt;button hx-post=" in page
    assert "<button hx-post" not in page and "<script>alert" not in page
    assert not {"\u200b", "\u202e", "\U000e0041"} & set(page)
    assert "⟦U+200B⟧" in page and "⟦U+E0041⟧" in page


def test_every_answer_forbids_sniffing_and_inline_script(ada: Actor) -> None:
    reply = signed_in("ada").get(f"/w/{ada.workspace_key}/tools/")
    assert reply["X-Content-Type-Options"] == "nosniff"
    policy = reply["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy


def test_reading_a_link_decides_nothing(ada: Actor, grace: Actor) -> None:
    """Report 87: what a mail scanner fetches stays as it was."""
    request = a_submitted_change(author=ada)
    request.refresh_from_db()
    client = signed_in("grace")
    base = f"/w/{ada.workspace_key}/reviews/{request.pk}/"
    for path in (base, f"{base}verdict/?verdict=approve&digest={request.digest}", f"{base}publish/"):
        for method in ("get", "head"):
            getattr(client, method)(path)
    assert ChangeRequest.objects.get(pk=request.pk).version == request.version


@pytest.mark.parametrize("rows", [1, 10, 100])
def test_the_trail_asks_the_same_questions_however_long_it_is(
    rows: int, ada: Actor, django_assert_num_queries: object
) -> None:
    """Report 127."""
    for _ in range(rows):
        a_revision(author=ada)
    client = signed_in("ada")
    with django_assert_num_queries(9):  # type: ignore[operator]
        assert client.get(f"/w/{ada.workspace_key}/audit/").status_code == 200


@pytest.mark.parametrize(
    "path", ["reviews/?state=state;drop", "audit/?action=__class__", "audit/?from=yesterday", "tools/?cursor=x"]
)
def test_filters_and_cursors_come_from_a_fixed_list(path: str, ada: Actor) -> None:
    """Report 125: an odd name is refused, never a look-up and never a broken page."""
    assert signed_in("ada").get(f"/w/{ada.workspace_key}/{path}").status_code == 400


@pytest.mark.parametrize("text", ["a\0b", "\0", "x" * 20_000])
def test_a_reason_that_cannot_be_stored_is_refused(text: str, ada: Actor) -> None:
    """Report 106, for forms: a NUL never reaches the database."""
    request = a_submitted_change(author=ada)
    reply = signed_in("ada").post(f"/w/{ada.workspace_key}/reviews/{request.pk}/withdraw/", {"reason": text})
    assert reply.status_code in {400, 422}
    assert ChangeRequest.objects.get(pk=request.pk).state == "in_review"


def test_a_name_that_looks_like_a_path_steers_no_address(ada: Actor, grace: Actor) -> None:
    """Report 15: addresses hold ids; the name is only shown."""
    saved = reviews.save_revision(actor=ada, kind="client_tool", body=refund_card(name="../../admin/__proto__"))
    page = signed_in("ada").get(f"/w/{ada.workspace_key}/tools/").content.decode()
    assert f"/tools/{saved.document_id}/" in page
    assert not re.search(r'href="[^"]*__proto__', page)


def test_django_is_a_patched_release() -> None:
    """Report 125: 5.2 before 5.2.11 has known holes."""
    major, minor, patch = map(int, version("django").split(".")[:3])
    assert (major, minor) == (5, 2) and patch >= 11


def test_no_admin_site_goes_round_the_sign_in() -> None:
    assert "django.contrib.admin" not in settings.INSTALLED_APPS


def test_a_member_of_two_workspaces_sees_each_apart(
    workspace: Workspace, other_workspace: Workspace, ada: Actor
) -> None:
    people.create_person(username="ada", roles=["viewer"], actor=people.Shell(other_workspace))
    request = a_submitted_change(author=ada)
    client = signed_in("ada")
    assert client.get(f"/w/{workspace.key}/reviews/{request.pk}/").status_code == 200
    assert client.get(f"/w/{other_workspace.key}/reviews/{request.pk}/").status_code == 404


def test_the_cast_is_who_the_table_says(cast: Cast) -> None:
    assert {name: sorted(cast.actor(name).roles) for name in ("ada", "grace", "pat", "noor", "root")} == {
        "ada": ["author"],
        "grace": ["reviewer"],
        "pat": ["publisher"],
        "noor": ["settler"],
        "root": ["admin"],
    }
