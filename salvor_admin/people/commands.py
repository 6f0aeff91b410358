"""What every command of a workspace shares: `--workspace`, `--format json`, one clear line when it could not."""

from __future__ import annotations

import json
import sys
from abc import abstractmethod
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from salvor_admin.domain.refusals import Refusal
from salvor_admin.people import access
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Person, Workspace


class WorkspaceCommand(BaseCommand):
    """A command that acts in one workspace. With `--format json` stdout is one JSON document, also on failure."""

    requires_system_checks = []
    creates_workspace = False

    def add_arguments(self, parser: CommandParser) -> None:
        if not self.creates_workspace:
            parser.add_argument(
                "--workspace", metavar="KEY", default="default", help="the workspace's key (default: default)"
            )
        parser.add_argument("--format", choices=["text", "json"], default="text")
        self.add_own_arguments(parser)

    @abstractmethod
    def add_own_arguments(self, parser: CommandParser) -> None: ...

    @abstractmethod
    def act(self, *args: Any, **options: Any) -> dict[str, Any]:
        """Does the work and returns the JSON document; tells people through `say`, and the product through `show`."""

    def handle(self, *args: Any, **options: Any) -> None:
        self.is_json = options["format"] == "json"
        try:
            document = self.act(**options)
        except Refusal as refusal:
            if self.is_json:
                self.stdout.write(
                    json.dumps({"error": {"code": refusal.code, "message": refusal.message}}, ensure_ascii=False)
                )
            place = f" (at {refusal.place})" if refusal.place else ""
            raise CommandError(f"{refusal.message}{place} [{refusal.code}]") from None
        if self.is_json:
            self.stdout.write(json.dumps(document, ensure_ascii=False))
        if document.get("failed"):
            sys.exit(1)

    def say(self, words: str) -> None:
        """A line for people; on stderr when stdout is one JSON document."""
        (self.stderr if self.is_json else self.stdout).write(words)

    def show(self, product: str) -> None:
        """The product alone on its line, where it can be picked up by a script."""
        if not self.is_json:
            self.stdout.write(product)


def workspace_of(key: str) -> Workspace:
    """The workspace, or `not_found` that names the command to make it."""
    workspace = Workspace.objects.filter(key=key).first()
    if workspace is None:
        raise Refusal("not_found", f"There is no workspace {key}; make it with `manage.py create_workspace {key}`.")
    return workspace


def person_called(username: str) -> Person:
    person = Person.objects.filter(username__iexact=username).first()
    if person is None:
        raise Refusal(
            "not_found", f"There is no person {username}; add them with `manage.py create_person {username}`."
        )
    return person


def actor_called(username: str, workspace_key: str) -> Actor:
    """Somebody on whose behalf a command drafts; commands decide nothing."""
    workspace_of(workspace_key)
    try:
        return access.actor_in(person_called(username), workspace_key, via="command")
    except Refusal:
        raise Refusal(
            "not_found", f"{username} is not in the workspace {workspace_key}, or is deactivated; add them there first."
        ) from None


def bytes_of(file: str) -> bytes:
    """A file's bytes, or a refusal that says why they cannot be read."""
    try:
        return Path(file).read_bytes()
    except OSError as problem:
        reason = problem.strerror or "unreadable"
        raise Refusal("unreadable_file", f"{file}: {reason}. Check the path and its rights.", place=file) from None
