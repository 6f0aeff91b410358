"""`manage.py create_token PERSON`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from salvor_admin.domain.rights import TOKEN_SCOPES
from salvor_admin.people import services
from salvor_admin.people.commands import WorkspaceCommand, person_called, workspace_of


class Command(WorkspaceCommand):
    help = "Make a personal token for one workspace; it is printed alone on the last line, once."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("person", metavar="PERSON", help="the user name")
        parser.add_argument("--scope", choices=TOKEN_SCOPES, default="read")
        parser.add_argument(
            "--days", type=int, default=1, help="how long it lives; a personal token lives at most one day"
        )

    def act(self, *, person: str, scope: str, days: int, workspace: str, **options: Any) -> dict[str, Any]:
        made = services.create_personal_token(
            person=person_called(person),
            scope=scope,
            lives=timedelta(days=max(-1, min(days, 36_500))),
            actor=services.Shell(workspace_of(workspace)),
        )
        self.say(f"Made a {scope} token for {person} in {workspace}, until {made.row.expires_at:%Y-%m-%d %H:%M} UTC:")
        self.show(made.token)
        return {
            "token": made.token,
            "person": person,
            "scope": scope,
            "workspace": workspace,
            "expires_at": made.row.expires_at.isoformat(),
        }
