"""Registering runtimes, their tokens, and what each has loaded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from salvor_admin.audit.models import Entry
from salvor_admin.domain.refusals import Refusal
from salvor_admin.people import tokens
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace
from salvor_admin.people.services import Shell
from salvor_admin.runtimes import services
from salvor_admin.runtimes.models import Runtime, RuntimeToken
from tests.races import ROUNDS, THREADS, at_once
from tests.runtimes.factories import a_runtime

pytestmark = pytest.mark.django_db


def standing() -> tuple[Any, ...]:
    """Everything a refusal must leave as it was."""
    return (
        list(Runtime.objects.order_by("pk").values_list()),
        list(RuntimeToken.objects.order_by("pk").values_list("name", "revoked_at")),
        Entry.objects.count(),
    )


def refused(act: Callable[[], object]) -> Refusal:
    before = standing()
    with pytest.raises(Refusal) as caught:
        act()
    assert standing() == before
    return caught.value


def last_entry() -> tuple[str, str]:
    entry = Entry.objects.order_by("-number")[0]
    return entry.action, entry.actor_name


def test_an_admin_registers_a_runtime_and_the_trail_says_so(root: Actor) -> None:
    runtime = services.register_runtime(name="payouts-1", actor=root, lease_ttl_seconds=90)
    assert (runtime.name, runtime.lease_ttl_seconds, runtime.created_by) == ("payouts-1", 90, root.person)
    assert last_entry() == ("runtime.registered", "root")


def test_a_runtime_begins_without_belief_in_its_labels_and_without_a_publication(root: Actor) -> None:
    runtime = a_runtime(admin=root)
    assert (runtime.labels_believed, runtime.loaded_publication, runtime.loaded_at) == (False, None, None)


def test_a_command_on_the_machine_registers_a_runtime_without_a_person(workspace: Workspace) -> None:
    assert a_runtime(admin=Shell(workspace)).created_by is None
    assert last_entry() == ("runtime.registered", "shell")


def test_only_an_admin_registers_a_runtime(ada: Actor, root: Actor) -> None:
    refusal = refused(lambda: a_runtime(admin=ada))
    assert (refusal.code, "root could" in refusal.message) == ("not_allowed", True)


def test_a_name_is_taken_once_in_a_workspace_and_free_in_another(root: Actor, kim: Actor) -> None:
    a_runtime(admin=root)
    assert refused(lambda: a_runtime(admin=root)).code == "runtime_exists"
    assert a_runtime(admin=kim).workspace == kim.workspace


@pytest.mark.parametrize("name", ["", "   ", "a\0b", "a\nb", "pay\u202eouts", "x" * 121])
def test_a_name_that_cannot_be_read_is_refused(root: Actor, name: str) -> None:
    refusal = refused(lambda: a_runtime(admin=root, name=name))
    assert (refusal.code, refusal.place) == ("bad_name", "name")


@pytest.mark.parametrize("seconds", [0, -1, 86_401])
def test_a_lease_that_is_none_is_refused(root: Actor, seconds: int) -> None:
    assert refused(lambda: a_runtime(admin=root, lease_ttl_seconds=seconds)).code == "bad_lease"


def test_a_token_is_shown_once_and_kept_as_its_hash(root: Actor) -> None:
    made = services.create_runtime_token(runtime_id=a_runtime(admin=root).pk, actor=root, name="blue")
    row = RuntimeToken.objects.get()
    assert made.token.startswith("srt_")
    assert bytes(row.token_hash) == tokens.token_hash(made.token)
    assert not any(made.token in text for text in Entry.objects.values_list("text", flat=True))
    assert last_entry() == ("runtime_token.created", "root")


def test_a_token_lives_until_revoked_unless_a_time_was_given(root: Actor) -> None:
    runtime = a_runtime(admin=root)
    lasting = services.create_runtime_token(runtime_id=runtime.pk, actor=root).row
    passing = services.create_runtime_token(runtime_id=runtime.pk, actor=root, lives=timedelta(days=3)).row
    assert lasting.expires_at is None
    assert passing.expires_at is not None and passing.expires_at - passing.created_at == timedelta(days=3)


def test_a_runtime_that_is_switched_off_gets_no_token(root: Actor) -> None:
    runtime = a_runtime(admin=root)
    services.change_runtime(runtime_id=runtime.pk, actor=root, is_active=False)
    refusal = refused(lambda: services.create_runtime_token(runtime_id=runtime.pk, actor=root))
    assert (refusal.code, refusal.details) == ("wrong_state", {"state": "inactive"})


def test_a_token_is_revoked_once(root: Actor) -> None:
    row = services.create_runtime_token(runtime_id=a_runtime(admin=root).pk, actor=root).row
    assert services.revoke_runtime_token(token_id=row.pk, actor=root).revoked_at is not None
    assert last_entry() == ("runtime_token.revoked", "root")
    assert refused(lambda: services.revoke_runtime_token(token_id=row.pk, actor=root)).code == "wrong_state"


def test_another_workspaces_runtime_and_token_are_not_there(root: Actor, kim: Actor) -> None:
    runtime = a_runtime(admin=root)
    token = services.create_runtime_token(runtime_id=runtime.pk, actor=root).row
    acts: list[Callable[[], object]] = [
        lambda: services.change_runtime(runtime_id=runtime.pk, actor=kim, lease_ttl_seconds=5),
        lambda: services.create_runtime_token(runtime_id=runtime.pk, actor=kim),
        lambda: services.revoke_runtime_token(token_id=token.pk, actor=kim),
        lambda: services.change_runtime(runtime_id=uuid4(), actor=kim, lease_ttl_seconds=5),
    ]
    assert [refused(act).code for act in acts] == ["not_found"] * 4


def test_a_change_is_told_with_what_was_and_what_is(root: Actor) -> None:
    runtime = a_runtime(admin=root)
    changed = services.change_runtime(runtime_id=runtime.pk, actor=root, labels_believed=True, lease_ttl_seconds=60)
    assert changed.labels_believed
    entry = Entry.objects.order_by("-number")[0]
    assert '"labels_believed":{"from":false,"to":true}' in entry.text.replace(" ", "")
    assert "lease_ttl_seconds" not in entry.text


def test_a_change_that_changes_nothing_leaves_no_entry(root: Actor) -> None:
    runtime = a_runtime(admin=root)
    before = standing()
    services.change_runtime(runtime_id=runtime.pk, actor=root, name="payouts-1", is_active=True)
    assert standing() == before


def test_a_runtime_takes_no_name_that_another_has(root: Actor) -> None:
    a_runtime(admin=root)
    second = a_runtime(admin=root, name="payouts-2")
    assert refused(lambda: services.change_runtime(runtime_id=second.pk, actor=root, name="payouts-1")).code == (
        "runtime_exists"
    )


def test_an_admin_who_lost_the_role_changes_nothing(root: Actor, ada: Actor) -> None:
    runtime = a_runtime(admin=root)
    root.workspace.memberships.filter(person=root.person).update(roles=["author"])
    assert refused(lambda: services.change_runtime(runtime_id=runtime.pk, actor=root, is_active=False)).code == (
        "not_allowed"
    )


def test_what_was_loaded_is_written_only_when_it_is_news_and_never_goes_back(root: Actor) -> None:
    runtime = a_runtime(admin=root)
    said = [services.record_loaded(runtime_id=runtime.pk, publication=number) for number in (3, 3, 2, 4)]
    runtime.refresh_from_db()
    assert (said, runtime.loaded_publication) == ([True, False, False, True], 4)
    assert runtime.loaded_at is not None


@pytest.mark.django_db(transaction=True)
def test_several_who_register_the_same_name_make_one_runtime(root: Actor) -> None:
    for number in range(ROUNDS):
        results = at_once(*[lambda name=f"r-{number}": a_runtime(admin=root, name=name)] * THREADS)
        refusals = [result.code for result in results if isinstance(result, Refusal)]
        assert refusals == ["runtime_exists"] * (THREADS - 1)
        assert Runtime.objects.filter(name=f"r-{number}").count() == 1


@pytest.mark.django_db(transaction=True)
def test_several_who_revoke_one_token_revoke_it_once(root: Actor) -> None:
    runtime = a_runtime(admin=root)
    for _ in range(ROUNDS):
        row = services.create_runtime_token(runtime_id=runtime.pk, actor=root).row
        results = at_once(*[lambda pk=row.pk: services.revoke_runtime_token(token_id=pk, actor=root)] * THREADS)
        refusals = [result.code for result in results if isinstance(result, Refusal)]
        assert refusals == ["wrong_state"] * (THREADS - 1)
        assert Entry.objects.filter(action="runtime_token.revoked", subject_id=str(row.pk)).count() == 1
