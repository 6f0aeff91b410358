"""`manage.py verify_audit`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from salvor_admin.audit import selectors
from salvor_admin.people.commands import WorkspaceCommand, workspace_of


class Command(WorkspaceCommand):
    help = "Read a workspace's audit chain from first to last; exits with 1 and names the place where it breaks."

    def add_own_arguments(self, parser: CommandParser) -> None: ...

    def act(self, *, workspace: str, **options: Any) -> dict[str, Any]:
        row = workspace_of(workspace)
        verdict = selectors.verdict(row.pk, row.key)
        broken = verdict.broken
        if broken is None:
            self.say(f"The chain of {workspace} is whole: {verdict.entries} entries, head {verdict.head_digest}.")
        else:
            self.stderr.write(
                f"The chain of {workspace} breaks at entry {broken.number}: {broken.reason}. "
                f"Entries 1 to {verdict.entries} are whole."
                if verdict.entries
                else f"The chain of {workspace} breaks at entry {broken.number}: {broken.reason}."
            )
        return {
            "workspace": workspace,
            "whole": broken is None,
            "entries": verdict.entries,
            "head": verdict.head_digest,
            "broken_at": broken.number if broken else None,
            "reason": broken.reason if broken else None,
            **({"failed": True} if broken else {}),
        }
