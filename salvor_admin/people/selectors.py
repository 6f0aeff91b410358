"""Reads about people."""

from __future__ import annotations

from collections.abc import Sequence

from salvor_admin.domain.rights import Role
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Membership, PersonalToken

#: What must be there before anything can go live or be settled.
_NEEDED = {
    Role.AUTHOR: "nobody can draft a declaration",
    Role.REVIEWER: "nothing can be approved",
    Role.PUBLISHER: "nothing approved can go live",
    Role.SETTLER: "no waiting call can be settled",
    Role.ADMIN: "nobody can add people or runtimes",
}


def _article(role: Role) -> str:
    return "an" if role.value[0] in "aeiou" else "a"


def members(workspace_id: int) -> list[Membership]:
    """Everybody of a workspace by name, deactivated people last."""
    return list(
        Membership.objects.filter(workspace_id=workspace_id)
        .select_related("person")
        .order_by("-person__is_active", "person__name", "person_id")
    )


def role_gaps(rows: Sequence[Membership]) -> list[str]:
    """What cannot be done here for want of people; two are the least a workspace needs."""
    active = [row for row in rows if row.person.is_active]
    held = {role for row in active for role in row.roles}
    gaps = [
        f"Nobody is {_article(role)} {role.value}, so {words}."
        for role, words in _NEEDED.items()
        if role.value not in held
    ]
    for role in (Role.REVIEWER, Role.PUBLISHER):
        holders = {row.person_id for row in active if role.value in row.roles}
        authors = {row.person_id for row in active if Role.AUTHOR.value in row.roles}
        if holders and authors and holders | authors == holders and len(holders) == 1:
            gaps.append(
                f"The only {role.value} is also the only author, and nobody decides what they wrote: add another {role.value}."
            )
    return gaps


def tokens_of(actor: Actor) -> list[PersonalToken]:
    """A person's own tokens here, newest first."""
    return list(
        PersonalToken.objects.filter(person_id=actor.person_id, workspace_id=actor.workspace_id).order_by(
            "-created_at"
        )[:200]
    )
