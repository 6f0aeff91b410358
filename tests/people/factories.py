"""The cast, made through the services that make people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from salvor_admin.people import access
from salvor_admin.people import services as people
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace

ROLES: Mapping[str, Sequence[str]] = {
    "ada": ["author"],
    "grace": ["reviewer"],
    "pat": ["publisher"],
    "noor": ["settler"],
    "root": ["admin"],
}
NAMES = {
    "ada": "Ada Marsh",
    "grace": "Grace Okafor",
    "pat": "Pat Lindqvist",
    "noor": "Noor Haddad",
    "root": "Root",
    "kim": "Kim Berg",
}
PASSWORD = "a long enough password"


class Cast:
    """People of one workspace by name; each made when first asked for."""

    def __init__(self, workspace: Workspace, roles: Mapping[str, Sequence[str]] = ROLES) -> None:
        self.workspace = workspace
        self.roles = roles
        self.made: dict[str, Actor] = {}

    def actor(self, name: str) -> Actor:
        if name not in self.made:
            person = people.create_person(
                username=name, name=NAMES.get(name, name), roles=self.roles[name], actor=people.Shell(self.workspace)
            ).person
            person.set_password(PASSWORD)
            person.must_change_password = False
            person.save(update_fields=["password", "must_change_password"])
            self.made[name] = access.actor_in(person, self.workspace.key, via="page")
        return self.made[name]
