"""Who acts, in which workspace, with which rights: read fresh, never remembered."""

from __future__ import annotations

from dataclasses import dataclass, replace

from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.review import ActorFacts
from salvor_admin.domain.rights import Role, Scope, scope_includes
from salvor_admin.people.models import Membership, Person, Workspace


@dataclass(frozen=True, slots=True)
class Actor:
    """A person at one door of one workspace. `scope` limits a personal token; None means a signed-in page or a command."""

    person: Person
    workspace: Workspace
    roles: frozenset[Role]
    via: str = "page"
    scope: Scope | None = None

    @property
    def workspace_id(self) -> int:
        return self.workspace.pk

    @property
    def workspace_key(self) -> str:
        return self.workspace.key

    @property
    def person_id(self) -> int:
        return self.person.pk

    @property
    def person_name(self) -> str:
        return self.person.username

    def has(self, role: Role) -> bool:
        return role in self.roles


def actor_in(person: Person, workspace_key: str, *, via: str, scope: Scope | None = None) -> Actor:
    """The actor, or `not_found` when there is no such workspace for this person: hidden and missing look alike."""
    membership = (
        Membership.objects.select_related("workspace", "person")
        .filter(person_id=person.pk, workspace__key=workspace_key, person__is_active=True)
        .first()
    )
    if membership is None:
        raise Refusal("not_found", "There is no such workspace here. Check the address, or ask its admin to add you.")
    return Actor(
        person=membership.person,
        workspace=membership.workspace,
        roles=frozenset(Role(role) for role in membership.roles),
        via=via,
        scope=scope,
    )


def deciding(actor: Actor) -> Actor:
    """The same actor with roles and standing read and locked now; call it inside the deciding transaction."""
    membership = (
        Membership.objects.select_for_update(no_key=True)
        .filter(person_id=actor.person.pk, workspace_id=actor.workspace.pk)
        .first()
    )
    # The person is read after the lock is held: joined while waiting for it, they would be as they were before.
    if membership is None or not membership.person.is_active:
        raise Refusal("not_allowed", f"{actor.person.username} no longer has access to this workspace; ask an admin.")
    return replace(actor, person=membership.person, roles=frozenset(Role(role) for role in membership.roles))


def facts(actor: Actor) -> ActorFacts:
    """What the pure rules need to know of an actor."""
    return ActorFacts(
        person_id=actor.person.pk,
        name=actor.person.name or actor.person.username,
        roles=actor.roles,
        is_active=actor.person.is_active,
    )


def require(actor: Actor, role: Role, purpose: str) -> None:
    """Raises `not_allowed` unless the actor has the role; says who could."""
    if role not in actor.roles:
        able = list(
            Membership.objects.filter(
                workspace_id=actor.workspace.pk, roles__contains=[role.value], person__is_active=True
            )
            .order_by("person__username")
            .values_list("person__username", flat=True)[:5]
        )
        who = (
            f"; {', '.join(able)} could" if able else "; nobody here could, so ask an admin to give somebody that role"
        )
        raise Refusal("not_allowed", f"Only {'an' if role.value[0] == 'a' else 'a'} {role.value} may {purpose}{who}.")


def require_scope(actor: Actor, scope: Scope, purpose: str) -> None:
    """Raises `not_allowed` when a personal token's scope does not reach; a page has no scope to limit it."""
    if actor.scope is not None and not scope_includes(actor.scope, scope):
        raise Refusal(
            "not_allowed",
            f"This token's scope is {actor.scope}, and {purpose} needs {scope}; make one with `create_token --scope {scope}`.",
        )


def workspaces_of(person: Person) -> list[Membership]:
    """A person's workspaces by name."""
    return list(Membership.objects.select_related("workspace").filter(person=person).order_by("workspace__name"))
