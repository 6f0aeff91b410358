"""What `make demo` shows: people, tools, a change to review, calls that wait. The one place where a program decides."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from django.db import transaction

from salvor_admin.catalogue import importing
from salvor_admin.catalogue.importing import File
from salvor_admin.domain import client_tools, review
from salvor_admin.domain.refusals import Refusal
from salvor_admin.engines import State
from salvor_admin.home import demo_calls
from salvor_admin.people import access as people_access
from salvor_admin.people import services as people
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Membership, Person, Workspace
from salvor_admin.people.services import NewPerson, Shell
from salvor_admin.people.tokens import token_hash
from salvor_admin.reviews import publishing
from salvor_admin.reviews import services as reviews
from salvor_admin.reviews.models import ChangeRequest, Document
from salvor_admin.runtimes import services as runtimes
from salvor_admin.runtimes.models import Runtime, RuntimeToken

WORKSPACE: Final = "default"
#: What the audit trail says of everything done here.
VIA: Final = "demo"
CAST: Final[Mapping[str, tuple[str, str]]] = {
    "ada": ("Ada Marsh", "author"),
    "grace": ("Grace Okafor", "reviewer"),
    "pat": ("Pat Lindqvist", "publisher"),
    "noor": ("Noor Haddad", "settler"),
    "root": ("Root", "admin"),
}
TOOLS: Final = Path(__file__).with_name("demo_tools")
LIVE: Final = ("refund_card", "wire_payout", "order_status")
RUNTIME: Final = "checkout-eu-1"
#: Registered and never started: the board shows what that looks like.
IDLE_RUNTIME: Final = "payouts-1"
#: In the state folder, read by the demo runtime alone.
TOKEN_FILE: Final = "demo_runtime.token"  # noqa: S105

Tell = Callable[[str], None]


def ensure_demo(*, tell: Tell | None = None) -> None:
    """Makes what is missing of the demo and leaves alone what is there; each one-time password is told once."""
    tell = tell or _on_stdout
    workspace = Workspace.objects.filter(key=WORKSPACE).first() or people.create_workspace(key=WORKSPACE)
    _ensure_cast(workspace, tell)
    for name, ensure in (
        ("runtimes", _ensure_runtimes),
        ("tools", _ensure_live_tools),
        ("change in review", _ensure_change_in_review),
        ("calls", _ensure_calls),
    ):
        try:
            ensure(workspace)
        except Refusal as refusal:
            # Somebody has made this workspace their own; what they did stands.
            tell(f"Demo: its {name} could not be set up. {refusal.message}")


def _on_stdout(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _actor(name: str) -> Actor:
    return people_access.actor_in(Person.objects.get(username__iexact=name), WORKSPACE, via=VIA)


def _ensure_cast(workspace: Workspace, tell: Tell) -> None:
    members = Membership.objects.filter(workspace=workspace).values_list("person__username", flat=True)
    known = {username.lower() for username in members}
    for username, (name, role) in CAST.items():
        if username in known:
            continue
        with transaction.atomic():
            made = people.create_person(username=username, name=name, roles=[role], actor=Shell(workspace, via=VIA))
            # Told before it is kept: a password that nobody read opens nothing.
            tell(_told(made, role))


def _told(made: NewPerson, role: str) -> str:
    who = f"{made.person.username:<6} {role:<10}"
    if made.one_time_password is None:
        return f"{who} signs in with the password they have"
    return f"{who} one-time password: {made.one_time_password}"


def _ensure_runtimes(workspace: Workspace) -> None:
    """Both runtimes, and a token for the demo runtime: the kept one while it stands, else a new one in its place."""
    state, shell = State(), Shell(workspace, via=VIA)
    for name in (RUNTIME, IDLE_RUNTIME):
        if not Runtime.objects.filter(workspace=workspace, name=name).exists():
            runtimes.register_runtime(name=name, actor=shell)
    runtime = Runtime.objects.get(workspace=workspace, name=RUNTIME)
    kept = state.remembered(TOKEN_FILE)
    if kept is not None:
        row = RuntimeToken.objects.filter(runtime=runtime, token_hash=token_hash(kept))
        if row.filter(revoked_at__isnull=True).exists():
            return
    with transaction.atomic():
        made = runtimes.create_runtime_token(runtime_id=runtime.pk, actor=shell, name="demo runtime")
        state.remember(TOKEN_FILE, made.token)


@transaction.atomic
def _ensure_live_tools(workspace: Workspace) -> None:
    missing = [name for name in LIVE if name not in _documents(workspace)]
    if missing:
        request = _import(missing, reason="The checkout agents refund cards, pay merchants out and look orders up.")
        reviews.give_verdict(
            request_id=request.pk, actor=_actor("grace"), verdict=review.Verdict.APPROVE, digest=request.digest
        )
        publishing.publish(request_id=request.pk, actor=_actor("pat"), digest=request.digest)


def _ensure_change_in_review(workspace: Workspace) -> None:
    payout = _documents(workspace).get("wire_payout")
    if payout is not None and payout.last_revision_number == 1 and _are_live_as_filed(workspace):
        _import(
            ["wire_payout.proposed"], reason="Support settles forty payouts a day by hand; let the small ones pass."
        )


def _ensure_calls(workspace: Workspace) -> None:
    token = State().remembered(TOKEN_FILE)
    if token is not None and _are_live_as_filed(workspace):
        demo_calls.ensure_calls(workspace, token=token, settler=_actor("noor"))


def _import(names: Sequence[str], *, reason: str) -> ChangeRequest:
    imported = importing.import_client_tools(
        actor=_actor("ada"), files=[_file(name) for name in names], reason=reason, submit=True
    )
    if imported.request is None:
        raise RuntimeError(f"files of the demo were refused: {imported.results}")
    return imported.request


def _file(name: str) -> File:
    return File(f"{name}.toml", (TOOLS / f"{name}.toml").read_bytes())


def _documents(workspace: Workspace) -> dict[str, Document]:
    rows = Document.objects.filter(workspace=workspace, kind=review.Kind.CLIENT_TOOL.value, key__in=LIVE)
    return {document.key: document for document in rows.select_related("live_revision")}


def _are_live_as_filed(workspace: Workspace) -> bool:
    """Whether what is live is still the demo's own, so that its calls fit."""
    documents = _documents(workspace)
    live = {key: document.live_revision.body for key, document in documents.items() if document.live_revision}
    return live == {name: client_tools.document_text(importing.read(_file(name))) for name in LIVE}
