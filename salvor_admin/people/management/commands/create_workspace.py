"""`manage.py create_workspace KEY`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from salvor_admin.people import services
from salvor_admin.people.commands import WorkspaceCommand


class Command(WorkspaceCommand):
    help = "Make a workspace: a team's walled space."
    creates_workspace = True

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("key", metavar="KEY", help="small letters, digits and hyphens")
        parser.add_argument("--name", default="", help="what people read (default: made from the key)")

    def act(self, *, key: str, name: str, **options: Any) -> dict[str, Any]:
        workspace = services.create_workspace(key=key, name=name)
        self.say(f"Made the workspace {workspace.key} ({workspace.name}).")
        return {"workspace": workspace.key, "name": workspace.name}
