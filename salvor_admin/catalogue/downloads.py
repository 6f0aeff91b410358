"""Client tools as files to take away."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from salvor_admin.catalogue import exporting
from salvor_admin.people.access import Actor
from salvor_admin.people.pages import in_workspace
from salvor_admin.reviews import access as reviews_access
from salvor_admin.reviews import selectors as reviews


def _file(content: bytes, kind: str, name: str) -> HttpResponse:
    response = HttpResponse(content, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_safe
@in_workspace
def export_one(request: HttpRequest, actor: Actor, document_id: UUID) -> HttpResponse:
    """The live revision of one client tool as TOML, comments naming revision, digest and who approved it."""
    file = exporting.live_file(reviews_access.document(actor, document_id))
    return _file(file.text.encode(), "application/toml", file.name)


@require_safe
@in_workspace
def export_all(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Every live client tool, a file each, in one archive."""
    publication = reviews.last_publication(actor.workspace_id)
    number = publication.number if publication else 0
    content = exporting.archive(exporting.live_files(actor.workspace_id))
    return _file(content, "application/zip", f"client-tools-{actor.workspace_key}-{number}.zip")
