"""`manage.py export_client_tools DIR`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from salvor_admin.catalogue import exporting
from salvor_admin.people.commands import WorkspaceCommand, workspace_of


class Command(WorkspaceCommand):
    help = "Write what is live as TOML, one tool a file, for `salvor serve --client-tool`."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR")

    def act(self, *, folder: str, workspace: str, **options: Any) -> dict[str, Any]:
        written = exporting.export_client_tools(workspace_id=workspace_of(workspace).pk, folder=folder)
        for file in written:
            self.say(f"{file.path}: {file.tool}, revision {file.revision}, {file.digest}")
        self.say(f"{len(written)} client tool(s) written to {folder}.")
        return {
            "files": [
                {"file": file.path, "tool": file.tool, "revision": file.revision, "digest": file.digest}
                for file in written
            ]
        }
