"""What is live, as the files that `salvor serve` takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from salvor_admin.domain import client_tools
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.review import Kind
from salvor_admin.reviews import selectors as reviews
from salvor_admin.reviews.models import PublicationItem, Revision, Verdict


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


def toml_of(revision: Revision) -> str:
    """A live revision as TOML, with comments that name revision, digest and who approved it."""
    tool = client_tools.from_document_text(revision.body)
    item = (
        PublicationItem.objects.filter(revision=revision)
        .select_related("publication__request", "publication__published_by")
        .order_by("-publication__number")
        .first()
    )
    comments = [f"revision {revision.number}", f"digest {revision.digest}"]
    if item is not None:
        approved = (
            Verdict.objects.filter(
                request=item.publication.request, verdict="approve", digest=item.publication.request.digest
            )
            if item.publication.request
            else Verdict.objects.none()
        )
        names = ", ".join(approved.order_by("given_at").values_list("person__username", flat=True))
        comments.append(f"approved by {names or 'nobody on record'}")
        comments.append(f"publication {item.publication.number}")
    return client_tools.to_toml(tool, comments)


def export_client_tools(*, workspace_id: int, folder: str) -> list[Written]:
    """Writes every live client tool into the folder; refuses before the first file when one cannot be said in TOML."""
    target = Path(folder)
    documents = list(reviews.live_documents(workspace_id, Kind.CLIENT_TOOL.value))
    texts = [
        (document, document.live_revision, toml_of(document.live_revision))
        for document in documents
        if document.live_revision is not None
    ]
    try:
        target.mkdir(parents=True, exist_ok=True)
        written = []
        for document, revision, text in texts:
            path = target / file_name(document.label)
            path.write_text(text, encoding="utf-8")
            written.append(Written(str(path), document.label, revision.number, revision.digest))
    except OSError as problem:
        raise Refusal(
            "unwritable_folder", f"{folder}: {problem.strerror}. Choose a folder that can be written."
        ) from None
    return written
