"""What `make demo` makes: whole at the first start, untouched at the second."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from salvor_admin.audit.models import Entry
from salvor_admin.home import demo
from salvor_admin.ledger.models import Event, Intent, Run
from salvor_admin.people.models import Membership, Person
from salvor_admin.reviews.models import ChangeRequest, Document, Publication
from salvor_admin.runtimes.models import RuntimeToken
from salvor_admin.settlement.models import Settlement

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SALVOR_STATE_DIR", str(tmp_path / "state"))
    yield tmp_path / "state"


def made() -> list[str]:
    told: list[str] = []
    demo.ensure_demo(tell=told.append)
    return told


def everything() -> list[int]:
    models = (
        Person,
        Membership,
        Document,
        ChangeRequest,
        Publication,
        RuntimeToken,
        Run,
        Event,
        Intent,
        Settlement,
        Entry,
    )
    return [model.objects.count() for model in models]


def test_each_of_the_cast_is_told_a_password_that_opens_once() -> None:
    told = made()
    assert [line.split()[:2] for line in told] == [
        ["ada", "author"],
        ["grace", "reviewer"],
        ["pat", "publisher"],
        ["noor", "settler"],
        ["root", "admin"],
    ]
    for line in told:
        person = Person.objects.get(username=line.split()[0])
        assert person.check_password(line.split()[-1])
        assert person.must_change_password


def test_the_tools_are_live_by_three_peoples_decisions() -> None:
    made()
    publication = Publication.objects.get()
    assert publication.request is not None
    assert (publication.request.created_by.username, publication.published_by.username) == ("ada", "pat")
    assert [verdict.person.username for verdict in publication.request.verdicts.all()] == ["grace"]
    assert {document.key for document in Document.objects.filter(live_revision__isnull=False)} == set(demo.LIVE)


def test_a_change_waits_for_a_reviewer() -> None:
    made()
    request = ChangeRequest.objects.get(state="in_review")
    item = request.items.get()
    assert (item.document.key, item.revision.number, item.base.number) == ("wire_payout", 2, 1)
    assert item.revision.findings.exists()


def test_there_is_a_call_of_every_kind_to_look_at() -> None:
    made()
    calls = [(intent.tool, intent.standing, intent.refusals) for intent in Intent.objects.order_by("tool", "standing")]
    assert ("refund_card", "completed", 0) in calls
    assert ("refund_card", "open", 1) in calls
    assert ("refund_card", "settled", 1) in calls
    assert ("wire_payout", "open", 0) in calls
    assert {settlement.outcome for settlement in Settlement.objects.all()} == {"landed", "still_unknown"}


def test_the_runtimes_token_lies_in_the_state_folder_for_us_alone(state: Path) -> None:
    made()
    file = state / demo.TOKEN_FILE
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert file.read_text().startswith("srt_")


def test_a_second_start_changes_nothing_and_tells_no_password() -> None:
    made()
    before = everything()
    assert made() == []
    assert everything() == before


def test_a_lost_token_is_replaced_and_a_standing_one_kept(state: Path) -> None:
    made()
    file = state / demo.TOKEN_FILE
    first = file.read_text()
    made()
    assert file.read_text() == first
    file.unlink()
    made()
    assert file.read_text() != first
    assert RuntimeToken.objects.count() == 2


def test_the_audit_trail_says_that_the_demo_decided() -> None:
    made()
    assert set(Entry.objects.filter(actor_name="grace").values_list("via", flat=True)) == {"demo"}


def test_whoever_was_there_before_keeps_their_password() -> None:
    made()
    ada = Person.objects.get(username="ada")
    Membership.objects.filter(person=ada).delete()
    assert made() == ["ada    author     signs in with the password they have"]


def test_a_workspace_that_people_changed_is_left_as_they_made_it() -> None:
    made()
    grace = Membership.objects.get(person__username="grace")
    grace.roles = []
    grace.save()
    before = everything()
    assert made() == []
    assert everything() == before
