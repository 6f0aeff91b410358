"""`manage.py create_person NAME --roles a,b`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from salvor_admin.domain.rights import Role
from salvor_admin.people import services
from salvor_admin.people.commands import WorkspaceCommand, workspace_of


class Command(WorkspaceCommand):
    help = "Add a person with a one-time password, to be changed at the first sign-in."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="the user name")
        parser.add_argument("--roles", default="", help=f"comma-separated, of {', '.join(role.value for role in Role)}")
        parser.add_argument("--full-name", default="")
        parser.add_argument("--email", default="")

    def act(
        self, *, name: str, roles: str, full_name: str, email: str, workspace: str, **options: Any
    ) -> dict[str, Any]:
        made = services.create_person(
            username=name,
            name=full_name,
            email=email,
            roles=[role.strip() for role in roles.split(",") if role.strip()],
            actor=services.Shell(workspace_of(workspace)),
        )
        self.say(f"Added {made.person.username} to {workspace} as {roles or 'nothing yet'}.")
        if made.one_time_password is None:
            self.say("They sign in with the password they have already.")
        else:
            self.say("One-time password, to be changed at the first sign-in:")
            self.show(made.one_time_password)
        return {
            "person": made.person.username,
            "workspace": workspace,
            "one_time_password": made.one_time_password,
        }
