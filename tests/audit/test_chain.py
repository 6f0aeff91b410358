"""The chain is whole, and says where it breaks when a row was changed behind its back."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import call_command
from django.db import connection

from salvor_admin.audit import selectors, services
from salvor_admin.audit.models import ChainHead, Entry
from salvor_admin.people.access import Actor
from salvor_admin.web.clock import database_now
from tests.reviews.factories import a_submitted_change

pytestmark = pytest.mark.django_db


def behind_its_back(statement: str) -> None:
    """What an administrator of the database could do, and the chain must show."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE audit_entry DISABLE TRIGGER audit_entry_only_grows")
        cursor.execute(statement)
        cursor.execute("ALTER TABLE audit_entry ENABLE TRIGGER audit_entry_only_grows")


def verify(actor: Actor) -> tuple[int, dict[str, object]]:
    """`manage.py verify_audit --format json`: its exit code and document."""
    out = io.StringIO()
    try:
        call_command("verify_audit", workspace=actor.workspace_key, format="json", stdout=out, stderr=io.StringIO())
    except SystemExit as left:
        return int(left.code or 0), json.loads(out.getvalue())
    return 0, json.loads(out.getvalue())


@pytest.fixture
def trail(ada: Actor) -> Actor:
    a_submitted_change(author=ada)
    return ada


def test_the_command_says_that_the_chain_is_whole(trail: Actor) -> None:
    code, told = verify(trail)
    assert (code, told["whole"], told["entries"]) == (0, True, Entry.objects.count())


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE audit_entry SET actor_name = 'kim' WHERE number = 3", "actor_name"),
        ("UPDATE audit_entry SET at = at + interval '1 second' WHERE number = 3", "at"),
        ("UPDATE audit_entry SET text = replace(text, '\"ada\"', '\"kim\"') WHERE number = 3", "its text gives"),
        ("DELETE FROM audit_entry WHERE number = 3", "entry 3 is missing"),
    ],
    ids=["a column", "a time", "the text", "a missing row"],
)
def test_the_command_names_the_entry_where_it_breaks(trail: Actor, statement: str, reason: str) -> None:
    behind_its_back(statement)
    code, told = verify(trail)
    assert (code, told["whole"], told["broken_at"]) == (1, False, 3)
    assert reason in str(told["reason"])


def test_a_rewritten_entry_with_a_fitting_digest_breaks_at_the_next(trail: Actor) -> None:
    behind_its_back(
        "UPDATE audit_entry SET text = replace(text, '\"ada\"', '\"kim\"'), actor_name = 'kim', "
        "digest = 'sha256:' || encode(sha256(convert_to(replace(text, '\"ada\"', '\"kim\"'), 'UTF8')), 'hex') WHERE number = 3"
    )
    _, told = verify(trail)
    assert (told["broken_at"], "entry before" in str(told["reason"])) == (4, True)


def test_a_cut_end_is_noticed_by_the_head(trail: Actor) -> None:
    last = Entry.objects.filter(workspace_id=trail.workspace_id).count()
    behind_its_back(f"DELETE FROM audit_entry WHERE number = {last}")
    _, told = verify(trail)
    assert (told["broken_at"], "missing at the end" in str(told["reason"])) == (last, True)


@pytest.mark.django_db(transaction=True)
def test_an_entry_outside_a_transaction_is_a_mistake_of_ours(ada: Actor) -> None:
    with pytest.raises(RuntimeError):
        services.record("case.claimed", subject=("case", 1), actor=ada, at=database_now())


def test_an_unregistered_action_is_a_mistake_of_ours(trail: Actor) -> None:
    with pytest.raises(ValueError, match=r"audit/actions\.py"):
        services.record("case.guessed", subject=("case", 1), actor=trail, at=database_now())


def test_workspaces_have_chains_of_their_own(trail: Actor, kim: Actor) -> None:
    assert set(ChainHead.objects.values_list("workspace_id", flat=True)) == {trail.workspace_id, kim.workspace_id}
    assert selectors.verdict(kim.workspace_id, kim.workspace_key).broken is None
