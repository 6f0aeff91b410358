"""What is live, as the files that `salvor serve` takes."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from salvor_admin.domain import client_tools
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.review import Kind
from salvor_admin.reviews import selectors as reviews
from salvor_admin.reviews.models import Document, PublicationItem, Revision, Verdict


@dataclass(frozen=True, slots=True)
class LiveFile:
    """One live client tool as a file."""

    name: str
    tool: str
    revision: int
    digest: str
    text: str


@dataclass(frozen=True, slots=True)
class Written:
    """One exported file."""

    path: str
    tool: str
    revision: int
    digest: str


def file_name(tool: str) -> str:
    """A file's name that nothing in a tool's name can steer; unlike names never meet."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", tool).strip("-")[:80]
    return f"{plain}.toml" if plain == tool else f"{plain or 'tool'}-{sha256(tool.encode()).hexdigest()[:8]}.toml"


def live_files(workspace_id: int) -> list[LiveFile]:
    """Every live client tool as a file, in byte order of the names, in three queries."""
    return _files(list(reviews.live_documents(workspace_id, Kind.CLIENT_TOOL.value)))


def live_file(document: Document) -> LiveFile:
    """One live client tool as a file; `wrong_state` when it is not live."""
    if document.live_revision is None:
        raise Refusal(
            "wrong_state",
            f"{document.label} is not live, so there is nothing to export; publish a revision first.",
            details={"state": "not_live"},
        )
    (file,) = _files([document])
    return file


def _files(documents: Sequence[Document]) -> list[LiveFile]:
    revisions = [document.live_revision for document in documents if document.live_revision is not None]
    comments = _comments(revisions)
    return [
        LiveFile(
            file_name(document.label),
            document.label,
            document.live_revision.number,
            document.live_revision.digest,
            _toml(document.label, document.live_revision, comments[document.live_revision.pk]),
        )
        for document in documents
        if document.live_revision is not None
    ]


def _toml(label: str, revision: Revision, comments: list[str]) -> str:
    try:
        return client_tools.to_toml(client_tools.from_document_text(revision.body), comments)
    except Refusal as refusal:
        raise Refusal(refusal.code, f"{label}: {refusal.message}", place=refusal.place) from None


def _comments(revisions: Sequence[Revision]) -> dict[int, list[str]]:
    """Per revision: its number and digest, who approved it, and the publication that brought it last."""
    brought: dict[int, PublicationItem] = {}
    for each in (
        PublicationItem.objects.filter(revision__in=revisions)
        .select_related("publication__request")
        .order_by("publication__number")
    ):
        if each.revision_id is not None:
            brought[each.revision_id] = each
    requests = [item.publication.request for item in brought.values() if item.publication.request is not None]
    approved: dict[object, list[str]] = {}
    for request_id, digest, name in (
        Verdict.objects.filter(request__in=requests, verdict="approve")
        .order_by("given_at", "pk")
        .values_list("request_id", "digest", "person__username")
    ):
        approved.setdefault((request_id, digest), []).append(name)
    found: dict[int, list[str]] = {}
    for revision in revisions:
        told = [f"revision {revision.number}", f"digest {revision.digest}"]
        if item := brought.get(revision.pk):
            request = item.publication.request
            names = approved.get((request.pk, request.digest), []) if request else []
            told += [f"approved by {', '.join(names) or 'nobody on record'}", f"publication {item.publication.number}"]
        found[revision.pk] = told
    return found


def archive(files: Sequence[LiveFile]) -> bytes:
    """The files in one ZIP archive; the same files give the same bytes."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archived:
        for file in files:
            archived.writestr(zipfile.ZipInfo(file.name), file.text)
    return held.getvalue()


def export_client_tools(*, workspace_id: int, folder: str) -> list[Written]:
    """Writes every live client tool into the folder; refuses before the first file when one cannot be said in TOML."""
    target = Path(folder)
    files = live_files(workspace_id)
    try:
        target.mkdir(parents=True, exist_ok=True)
        written = []
        for file in files:
            path = target / file.name
            path.write_text(file.text, encoding="utf-8")
            written.append(Written(str(path), file.tool, file.revision, file.digest))
    except OSError as problem:
        raise Refusal(
            "unwritable_folder", f"{folder}: {problem.strerror}. Choose a folder that can be written."
        ) from None
    return written
