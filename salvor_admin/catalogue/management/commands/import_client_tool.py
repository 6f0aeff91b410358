"""`manage.py import_client_tool FILE… --as NAME [--submit]`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from salvor_admin.catalogue import importing
from salvor_admin.people.commands import WorkspaceCommand, actor_called, bytes_of


class Command(WorkspaceCommand):
    help = "Save client tools (TOML) as revisions in one change request, whose id is alone on the last line."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", metavar="FILE", nargs="+")
        parser.add_argument("--as", dest="author", metavar="NAME", required=True, help="the author on whose behalf")
        parser.add_argument("--submit", action="store_true", help="put it before the reviewers at once")
        parser.add_argument("--reason", default="", help="what reviewers read (default: which files were imported)")

    def act(
        self, *, files: list[str], author: str, submit: bool, reason: str, workspace: str, **options: Any
    ) -> dict[str, Any]:
        done = importing.import_client_tools(
            actor=actor_called(author, workspace),
            files=[importing.File(file, bytes_of(file)) for file in files],
            reason=reason or f"Imported from {', '.join(files)}.",
            submit=submit,
        )
        for result in done.results:
            if result.refusal is not None:
                place = f" at {result.refusal.place}" if result.refusal.place else ""
                self.stderr.write(f"{result.file}: {result.refusal.message}{place} [{result.refusal.code}]")
            elif result.note:
                self.say(f"{result.file}: {result.note}")
            elif result.revision is not None:
                self.say(f"{result.file}: {result.tool} is revision {result.revision.number}, {result.revision.digest}")
        if done.request is None:
            self.stderr.write("Nothing was imported.")
        else:
            self.say(f"CR-{done.request.number} is {done.request.state}, digest {done.request.digest}:")
            self.show(str(done.request.pk))
        return {
            "change_request": str(done.request.pk) if done.request else None,
            "state": done.request.state if done.request else None,
            "digest": done.request.digest if done.request else None,
            "files": [_told(result) for result in done.results],
            **({"failed": True} if done.request is None else {}),
        }


def _told(result: importing.FileResult) -> dict[str, Any]:
    return {
        "file": result.file,
        "tool": result.tool,
        "revision": result.revision.number if result.revision else None,
        "digest": result.revision.digest if result.revision else None,
        "note": result.note or None,
        "refusal": {
            "code": result.refusal.code,
            "message": result.refusal.message,
            "place": result.refusal.place,
        }
        if result.refusal
        else None,
    }
