"""Who asks on `/v1`: a runtime drives and reads; a person reads, settles and abandons."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models.functions import Now

from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role, Scope
from salvor_admin.ledger import scenes
from salvor_admin.people import access as people_access
from salvor_admin.people import tokens
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Membership, PersonalToken
from salvor_admin.wire.requests import WireRequest

VIA = "wire"


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose token it is, and the workspace it opens."""

    workspace_id: int
    publication: int
    runtime_id: UUID | None = None
    loaded_publication: int | None = None
    actor: Actor | None = None


def known(request: WireRequest) -> Caller:
    """The caller, runtime or person; raises `unauthorized`. For reads: every scope includes them."""
    try:
        scene = scenes.read(scenes.Door(scenes.hashed(request.token)))
    except scenes.UnknownToken:
        actor = person(request)
        if actor is None:
            raise
        return Caller(actor.workspace_id, actor.workspace.last_publication, actor=actor)
    return Caller(scene.workspace_id, scene.publication, scene.runtime_id, scene.loaded_publication)


def person(request: WireRequest) -> Actor | None:
    """The person whose own token this is, with what it allows; None when it is none, or opens nothing."""
    token = request.token
    if not token.startswith(tokens.PERSONAL_PREFIX):
        return None
    row = (
        PersonalToken.objects.select_related("person", "workspace")
        .filter(
            token_hash=tokens.token_hash(token),
            revoked_at__isnull=True,
            expires_at__gt=Now(),
            person__is_active=True,
            workspace__personal_tokens_allowed=True,
        )
        .first()
    )
    if row is None:
        return None
    membership = Membership.objects.filter(person=row.person, workspace=row.workspace).first()
    if membership is None:
        return None
    PersonalToken.objects.filter(pk=row.pk).update(last_used_at=Now())
    roles = frozenset(Role(role) for role in membership.roles)
    return Actor(row.person, row.workspace, roles, via=VIA, scope=Scope(row.scope))


def refuse_person(request: WireRequest) -> Refusal | None:
    """What a person is told who tries to drive a run; None when the token is no person's."""
    if person(request) is None:
        return None
    return Refusal(
        "not_allowed",
        "A person's token reads, settles and abandons; runs are driven with a runtime's token. Use one of those.",
    )


def settler(actor: Actor, purpose: str) -> None:
    """Only a settler's `decide` token settles and abandons."""
    people_access.require_scope(actor, Scope.DECIDE, purpose)
    people_access.require(actor, Role.SETTLER, purpose)
