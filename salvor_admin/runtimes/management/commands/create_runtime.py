"""`manage.py create_runtime NAME`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from salvor_admin.people.commands import WorkspaceCommand, workspace_of
from salvor_admin.people.services import Shell
from salvor_admin.runtimes import services


class Command(WorkspaceCommand):
    help = "Register a runtime and make its first token, printed alone on the last line, once."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument(
            "--lease-ttl", type=int, default=60, metavar="SECONDS", help="how long a silent driver holds a run"
        )

    def act(self, *, name: str, lease_ttl: int, workspace: str, **options: Any) -> dict[str, Any]:
        actor = Shell(workspace_of(workspace))
        with transaction.atomic():
            runtime = services.register_runtime(name=name, actor=actor, lease_ttl_seconds=lease_ttl)
            made = services.create_runtime_token(runtime_id=runtime.pk, actor=actor, name="first")
        self.say(f"Registered the runtime {runtime.name} in {workspace}. Its token:")
        self.show(made.token)
        return {"runtime": runtime.name, "id": str(runtime.pk), "workspace": workspace, "token": made.token}
