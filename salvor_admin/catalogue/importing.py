"""Files of client tools into one change request: all of them, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from salvor_admin.domain import client_tools
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.review import Kind
from salvor_admin.people.access import Actor
from salvor_admin.reviews import selectors
from salvor_admin.reviews import services as reviews
from salvor_admin.reviews.models import ChangeRequest, Revision
from salvor_admin.reviews.services import Source, WantedItem

MOST_FILES = 200
LARGEST_FILE = 512 * 1024


@dataclass(frozen=True, slots=True)
class File:
    """A file as it was handed in."""

    name: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of one file: the revision it made, the refusal it met, or a note."""

    file: str
    tool: str | None = None
    revision: Revision | None = None
    refusal: Refusal | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Import:
    """Every file's result; the change request is None when anything was refused, and then nothing was stored."""

    results: list[FileResult]
    request: ChangeRequest | None


def read(file: File) -> client_tools.ClientTool:
    """The tool a file declares, or the refusal with its place."""
    if len(file.raw) > LARGEST_FILE:
        raise Refusal(
            "payload_too_large",
            f"{file.name} has {len(file.raw)} bytes; a declaration holds at most {LARGEST_FILE}.",
            place=file.name,
        )
    return client_tools.from_toml(file.raw)


def import_client_tools(*, actor: Actor, files: Sequence[File], reason: str = "", submit: bool = False) -> Import:
    """Reads every file, then saves all tools and opens one change request; one refused file stores nothing.

    Of two files that declare one tool the later counts, with a note, as `salvor serve` loads them (contract 2.1).
    """
    if not files:
        raise Refusal("nothing_to_review", "Choose at least one file to import.", place="uploads")
    if len(files) > MOST_FILES:
        raise Refusal(
            "bad_request", f"At most {MOST_FILES} files are imported at once; send them in parts.", place="uploads"
        )
    readings: list[tuple[File, client_tools.ClientTool | Refusal]] = []
    for file in files:
        try:
            readings.append((file, read(file)))
        except Refusal as refusal:
            readings.append((file, refusal))
    if any(isinstance(reading, Refusal) for _, reading in readings):
        return Import(
            [
                FileResult(file.name, refusal=reading)
                if isinstance(reading, Refusal)
                else FileResult(file.name, tool=reading.name)
                for file, reading in readings
            ],
            None,
        )
    tools = [(file, reading) for file, reading in readings if not isinstance(reading, Refusal)]
    last = {tool.name: index for index, (_, tool) in enumerate(tools)}
    results: list[FileResult] = []
    with transaction.atomic():
        saved: list[Revision] = []
        for index, (file, tool) in enumerate(tools):
            if last[tool.name] != index:
                results.append(
                    FileResult(
                        file.name,
                        tool=tool.name,
                        note=f"{tools[last[tool.name]][0].name} declares it too, and is the later one.",
                    )
                )
                continue
            revision = reviews.save_revision(
                actor=actor,
                kind=Kind.CLIENT_TOOL.value,
                body=client_tools.to_document(tool),
                source=Source("file", file.name, file.raw),
            )
            saved.append(revision)
            results.append(FileResult(file.name, tool=tool.name, revision=revision))
        request = _change_of(saved, actor=actor, reason=reason, submit=submit)
    return Import(results, request)


def _change_of(saved: Sequence[Revision], *, actor: Actor, reason: str, submit: bool) -> ChangeRequest:
    """The one open change that took all of them up, or else a new one."""
    held = selectors.open_requests_of(revision.document_id for revision in saved)
    if len(held) == len(saved) and len(set(held.values())) == 1:
        (request,) = set(held.values())
        return reviews.submit(request_id=request.pk, actor=actor, reason=reason) if submit else request
    return reviews.open_change_request(
        actor=actor,
        items=[WantedItem(revision.document_id, revision=revision.number) for revision in saved],
        reason=reason,
        submit=submit,
    )
