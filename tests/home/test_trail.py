"""The audit trail as pages: filters in the address, the exact hashed text, and an export that proves itself."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from django.test import Client

from salvor_admin.audit.models import Entry
from salvor_admin.home import trail
from salvor_admin.people.access import Actor
from tests.catalogue.pages import query_count
from tests.people.factories import PASSWORD
from tests.reviews.factories import a_submitted_change

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(ada: Actor) -> Client:
    a_submitted_change(author=ada)
    browser = Client()
    assert browser.login(username="ada", password=PASSWORD)
    return browser


def numbers(reply: object) -> list[int]:
    return [row.number for row, _ in reply.context["rows"]]  # type: ignore[attr-defined]


def test_entries_come_newest_first(client: Client, ada: Actor) -> None:
    shown = numbers(client.get(f"/w/{ada.workspace_key}/audit/"))
    assert shown == sorted(shown, reverse=True) and shown[-1] == 1


def test_a_filter_by_act_and_person_stands_in_the_address(client: Client, ada: Actor) -> None:
    reply = client.get(f"/w/{ada.workspace_key}/audit/?action=change_request.submitted&actor=ada")
    wanted = Entry.objects.filter(action="change_request.submitted", actor_name="ada").values_list("number", flat=True)
    assert numbers(reply) == list(wanted) != []


def test_a_filter_by_subject_finds_all_of_one_change_request(client: Client, ada: Actor) -> None:
    entry = Entry.objects.get(action="change_request.submitted")
    shown = numbers(client.get(f"/w/{ada.workspace_key}/audit/?subject={entry.subject_id}"))
    assert len(shown) == Entry.objects.filter(subject_id=entry.subject_id).count() == 2


def test_a_subject_is_found_by_its_name_and_by_its_number(client: Client, ada: Actor) -> None:
    a_submitted_change(author=ada, name="wire_payout")
    subjects = set(Entry.objects.filter(text__contains="wire_payout").values_list("number", flat=True))
    assert set(numbers(client.get(f"/w/{ada.workspace_key}/audit/?subject=PAYOUT"))) == subjects != set()
    by_number = numbers(client.get(f"/w/{ada.workspace_key}/audit/?subject=cr-1"))
    assert {Entry.objects.get(number=number).action for number in by_number} == {
        "change_request.opened",
        "change_request.submitted",
    }


def test_every_kind_of_subject_can_be_filtered_for() -> None:
    source = Path(__file__).parent.parent.parent / "salvor_admin"
    named = {
        kind for file in source.rglob("*.py") for kind in re.findall(r'subject=\(\s*"(\w+)"', file.read_text("utf-8"))
    }
    assert len(named) > 5 and named <= set(trail.SUBJECTS)


def test_the_list_asks_the_same_questions_for_few_entries_and_for_many(ada: Actor) -> None:
    where = f"/w/{ada.workspace_key}/audit/"
    few = query_count(ada, where)
    for number in range(10):
        a_submitted_change(author=ada, name=f"tool_{number}")
    assert (few, query_count(ada, where)) == (9, 9)


def test_a_day_nothing_happened_shows_that_the_filter_hides_all(client: Client, ada: Actor) -> None:
    reply = client.get(f"/w/{ada.workspace_key}/audit/?from=2001-01-01&to=2001-01-02")
    assert "The filter hides all" in reply.content.decode()


def test_the_last_day_there_is_may_end_the_filter(client: Client, ada: Actor) -> None:
    for path in ("", "export/"):
        assert client.get(f"/w/{ada.workspace_key}/audit/{path}?from=0001-01-01&to=9999-12-31").status_code == 200


def test_an_entry_shows_the_exact_text_that_was_hashed(client: Client, ada: Actor) -> None:
    entry = Entry.objects.get(action="change_request.submitted")
    reply = client.get(f"/w/{ada.workspace_key}/audit/{entry.number}/")
    assert reply.context["entry"].text == entry.text
    assert entry.digest in reply.content.decode()


def test_another_workspaces_trail_is_not_there(ada: Actor, kim: Actor) -> None:
    browser = Client()
    assert browser.login(username="kim", password=PASSWORD)
    for path in ("", "export/", "1/"):
        assert browser.get(f"/w/{ada.workspace_key}/audit/{path}").status_code == 404


def test_the_export_can_be_verified_by_itself(client: Client, ada: Actor) -> None:
    reply = client.get(f"/w/{ada.workspace_key}/audit/export/")
    lines = [json.loads(line) for line in b"".join(reply.streaming_content).decode().splitlines()]  # type: ignore[attr-defined]
    previous = "sha256:" + "0" * 64
    for place, line in enumerate(lines, start=1):
        assert line["number"] == place and line["previous_digest"] == previous
        assert line["digest"] == "sha256:" + hashlib.sha256(line["text"].encode()).hexdigest()
        assert json.loads(line["text"])["previous"] == previous
        previous = line["digest"]
    assert len(lines) == Entry.objects.filter(workspace=ada.workspace).count()


def test_checking_the_chain_says_that_it_is_whole(client: Client, ada: Actor) -> None:
    page = client.get(f"/w/{ada.workspace_key}/audit/?check=1").content.decode()
    assert "The chain is whole" in page


@pytest.mark.parametrize("query", ["from=30.11.2026", "action=case.guessed", "cursor=nonsense", "to=2026-13-01"])
def test_an_odd_filter_is_refused(query: str, client: Client, ada: Actor) -> None:
    reply = client.get(f"/w/{ada.workspace_key}/audit/?{query}")
    assert (reply.status_code, "bad_request" in reply.content.decode()) == (400, True)
