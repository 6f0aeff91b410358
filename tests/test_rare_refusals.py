"""Refusals that no other test meets, each at the door that a person or a program would meet it at."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from salvor_admin.catalogue import exporting
from salvor_admin.domain import call_cases, declarations
from salvor_admin.domain.providers.provider import OutputMode, OutputSchema, forced_tool
from salvor_admin.domain.providers.turns import AnswerFault, AnswerUnread
from salvor_admin.domain.refusals import Refusal
from salvor_admin.people import commands
from salvor_admin.people import services as people
from salvor_admin.people.access import Actor
from salvor_admin.people.models import PersonalToken
from salvor_admin.reviews.models import ChangeRequest, Document, Revision
from salvor_admin.reviews.services import WantedItem, needed_reason, open_change_request
from tests.people.factories import PASSWORD
from tests.reviews.factories import REFUND_CARD, a_published_tool, a_revision


def test_a_file_that_cannot_be_opened_is_told_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refused:
        commands.bytes_of(str(tmp_path / "missing.toml"))
    assert (refused.value.code, refused.value.place) == ("unreadable_file", str(tmp_path / "missing.toml"))


@pytest.mark.django_db
def test_an_export_into_what_is_no_folder_is_refused(tmp_path: Path, ada: Actor) -> None:
    taken = tmp_path / "taken"
    taken.write_text("not a folder")
    with pytest.raises(Refusal) as refused:
        exporting.export_client_tools(workspace_id=ada.workspace_id, folder=str(taken))
    assert refused.value.code == "unwritable_folder"
    assert os.listdir(tmp_path) == ["taken"]


@pytest.mark.django_db
def test_a_reason_longer_than_it_may_be_opens_no_change(ada: Actor) -> None:
    revision = a_revision(author=ada)
    with pytest.raises(Refusal) as refused:
        open_change_request(actor=ada, items=[WantedItem(revision.document_id)], reason="x" * 100_000, submit=True)
    assert refused.value.code == "reason_too_long"
    assert needed_reason("x") == "x"
    assert not ChangeRequest.objects.exists()


@pytest.mark.django_db
def test_a_token_of_a_scope_that_is_none_is_not_made(ada: Actor) -> None:
    with pytest.raises(Refusal) as refused:
        people.create_personal_token(person=ada.person, scope="everything", lives=timedelta(hours=1), actor=ada)
    assert refused.value.code == "bad_scope"
    assert not PersonalToken.objects.exists()


@pytest.fixture
def document(ada: Actor, grace: Actor, pat: Actor) -> Document:
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    return Document.objects.get(key="refund_card")


def signed_in(actor: Actor) -> Client:
    client = Client()
    assert client.login(username=actor.person.username, password=PASSWORD)
    return client


@pytest.mark.django_db
def test_an_edit_does_not_rename_a_tool(document: Document, ada: Actor) -> None:
    path = reverse("catalogue:edit_tool", kwargs={"workspace": ada.workspace_key, "document_id": document.pk})
    renamed = REFUND_CARD.decode().replace('"refund_card"', '"refund_all"')
    reply = signed_in(ada).post(path, {"toml": renamed})
    # `name_changed` is told at its field, by its sentence alone.
    assert (reply.status_code, "Draft a new tool for another name." in reply.content.decode()) == (422, True)
    assert Revision.objects.count() == 1


@pytest.mark.django_db
def test_a_tool_is_revoked_only_under_its_typed_name(document: Document, root: Actor) -> None:
    path = reverse("catalogue:revoke", kwargs={"workspace": root.workspace_key, "document_id": document.pk})
    reply = signed_in(root).post(path, {"typed_name": "refund", "reason": "The provider is down."})
    assert (reply.status_code, "name_not_typed" in reply.content.decode()) == (422, True)
    document.refresh_from_db()
    assert document.live_revision_id is not None


def test_a_case_that_describes_no_call_is_told_where() -> None:
    with pytest.raises(Refusal) as refused:
        call_cases.read_case([])
    assert refused.value.code == "call_file_invalid"


def test_a_forced_answer_beside_callable_tools_is_refused() -> None:
    offer = declarations.new("stock_level", "How many are there.", {"type": "object"})
    with pytest.raises(Refusal) as refused:
        forced_tool(OutputSchema({"type": "object"}, OutputMode.FORCED), [offer], name="respond")
    assert (refused.value.code, refused.value.place) == ("output_schema_refused", "output_schema")


def test_an_answer_without_a_turn_says_what_was_billed() -> None:
    refusal = AnswerUnread(AnswerFault.UNUSABLE, "The call's arguments are no JSON.")
    assert (refusal.code, refusal.details["fault"]) == ("answer_unread", "unusable")
    assert refusal.details["billed"] == {"input": 0, "output": 0}
