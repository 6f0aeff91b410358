"""Signing in and out, the first password, and the people page."""

from __future__ import annotations

import pytest
from django.test import Client

from salvor_admin.audit.models import Entry
from salvor_admin.people import services
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace
from tests.people.factories import PASSWORD

pytestmark = pytest.mark.django_db


def sign_in(client: Client, username: str, password: str, following: str = "") -> object:
    return client.post(f"/sign-in/{following}", {"username": username, "password": password})


def test_a_one_time_password_leads_to_choosing_ones_own_and_nowhere_else(root: Actor) -> None:
    made = services.create_person(username="bo", roles=["settler"], actor=root)
    client = Client()
    reply = client.post("/sign-in/", {"username": "bo", "password": made.one_time_password})
    assert (reply.status_code, reply["Location"]) == (302, "/password/")
    for path in ("/", f"/w/{root.workspace_key}/", f"/w/{root.workspace_key}/people/"):
        assert client.get(path)["Location"] == "/password/"


@pytest.mark.parametrize(
    "following", ["/sign-in/", "/sign-in/?next=/", "http://testserver/sign-in/", "//evil.example/"]
)
def test_the_sign_in_page_never_leads_back_to_itself_nor_elsewhere(ada: Actor, following: str) -> None:
    client = Client()
    reply = client.post("/sign-in/", {"username": "ada", "password": PASSWORD, "next": following})
    assert (reply.status_code, reply["Location"]) == (302, "/")
    again = client.get("/sign-in/", {"next": following})
    assert (again.status_code, again["Location"]) == (302, "/")


def test_a_chosen_password_opens_the_house(root: Actor) -> None:
    made = services.create_person(username="bo", roles=["viewer"], actor=root)
    client = Client()
    client.post("/sign-in/", {"username": "bo", "password": made.one_time_password})
    own = {"new_password1": "quiet horses at dawn", "new_password2": "quiet horses at dawn"}
    assert client.post("/password/", own)["Location"] == "/"
    assert client.get(f"/w/{root.workspace_key}/people/").status_code == 200
    assert Client().login(username="bo", password="quiet horses at dawn")


def test_two_passwords_that_differ_change_nothing(root: Actor) -> None:
    made = services.create_person(username="bo", roles=["viewer"], actor=root)
    client = Client()
    client.post("/sign-in/", {"username": "bo", "password": made.one_time_password})
    reply = client.post(
        "/password/", {"new_password1": "quiet horses at dawn", "new_password2": "quiet horses at dusk"}
    )
    assert reply.status_code == 422
    assert Client().login(username="bo", password=made.one_time_password)


def test_a_changed_password_ends_the_other_sessions_and_keeps_this_one(ada: Actor) -> None:
    here, elsewhere = Client(), Client()
    assert here.login(username="ada", password=PASSWORD) and elsewhere.login(username="ada", password=PASSWORD)
    here.post(
        "/password/",
        {"old_password": PASSWORD, "new_password1": "quiet horses at dawn", "new_password2": "quiet horses at dawn"},
    )
    assert here.get(f"/w/{ada.workspace_key}/people/").status_code == 200
    assert elsewhere.get(f"/w/{ada.workspace_key}/people/").status_code == 302


def test_a_wrong_password_tells_nothing_about_who_exists(ada: Actor) -> None:
    known = Client().post("/sign-in/", {"username": "ada", "password": "wrong"})
    unknown = Client().post("/sign-in/", {"username": "nobody-here", "password": "wrong"})
    strip = lambda reply: reply.content.decode().replace("nobody-here", "ada").split("<form", 1)[0]  # noqa: E731
    assert known.status_code == unknown.status_code
    assert strip(known) == strip(unknown)


def test_signing_in_leads_back_to_this_site_alone(ada: Actor) -> None:
    page = f"/w/{ada.workspace_key}/people/"
    reply = Client().post(f"/sign-in/?next={page}", {"username": "ada", "password": PASSWORD})
    assert reply["Location"] == page
    elsewhere = Client().post("/sign-in/?next=https://evil.example/", {"username": "ada", "password": PASSWORD})
    assert elsewhere["Location"] == "/"


def test_signing_in_and_out_stand_in_the_trail(ada: Actor) -> None:
    client = Client()
    client.post("/sign-in/", {"username": "ada", "password": PASSWORD})
    client.post("/sign-out/")
    assert list(Entry.objects.filter(actor_id=ada.person_id).values_list("action", flat=True)) == [
        "person.signed_in",
        "person.signed_out",
    ]


def test_signing_out_needs_a_post(ada: Actor) -> None:
    client = Client()
    client.login(username="ada", password=PASSWORD)
    assert client.get("/sign-out/").status_code == 405
    assert client.get(f"/w/{ada.workspace_key}/people/").status_code == 200


def test_a_fragment_never_gets_a_sign_in_form(ada: Actor) -> None:
    page = f"http://testserver/w/{ada.workspace_key}/people/"
    reply = Client().get(f"/w/{ada.workspace_key}/people/", headers={"HX-Request": "true", "HX-Current-URL": page})
    assert (reply.status_code, reply["HX-Redirect"], reply.content) == (
        401,
        f"/sign-in/?next=%2Fw%2F{ada.workspace_key}%2Fpeople%2F",
        b"",
    )


def test_the_form_of_an_earlier_sign_in_is_refused_with_what_was_typed(ada: Actor, root: Actor) -> None:
    client = Client(enforce_csrf_checks=True)
    client.login(username="root", password=PASSWORD)
    reply = client.post(f"/w/{root.workspace_key}/people/add/", {"username": "typed-by-root", "roles": ["settler"]})
    assert reply.status_code == 403
    assert "stale_form" in reply.content.decode() and "typed-by-root" in reply.content.decode()


def test_the_workspace_switch_lists_ones_own_workspaces_alone(ada: Actor, other_workspace: Workspace) -> None:
    client = Client()
    client.login(username="ada", password=PASSWORD)
    page = client.get(f"/w/{ada.workspace_key}/").content.decode()
    assert ada.workspace.name in page and other_workspace.name not in page


def test_a_one_time_password_is_shown_once(root: Actor) -> None:
    client = Client()
    client.login(username="root", password=PASSWORD)
    page = f"/w/{root.workspace_key}/people/"
    shown = client.post(f"{page}add/", {"username": "bo", "roles": ["settler"]})
    assert 'class="secret"' in shown.content.decode()
    assert 'class="secret"' not in client.get(page).content.decode()


@pytest.mark.parametrize("more", [1, 10])
def test_the_people_page_asks_the_same_questions_for_one_and_for_ten(
    more: int, root: Actor, django_assert_num_queries: object
) -> None:
    for number in range(more):
        services.create_person(username=f"bo{number}", roles=["viewer"], actor=root)
    client = Client()
    client.login(username="root", password=PASSWORD)
    with django_assert_num_queries(QUERIES):  # type: ignore[operator]
        assert client.get(f"/w/{root.workspace_key}/people/").status_code == 200


#: Session, person, membership, members, the workspaces of the frame, and two counts of what waits.
QUERIES = 7
