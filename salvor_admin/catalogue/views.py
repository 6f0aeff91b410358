"""Client tools on the desk: the list, one document, drafting as TOML, importing files."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from salvor_admin.catalogue import importing, sections, selectors
from salvor_admin.catalogue.forms import ImportForm
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.rights import Role
from salvor_admin.people.access import Actor
from salvor_admin.people.pages import in_workspace
from salvor_admin.reviews import access as reviews_access
from salvor_admin.reviews import comparing, publishing, schema_tables
from salvor_admin.reviews import selectors as reviews
from salvor_admin.reviews import services as reviews_services
from salvor_admin.reviews.models import Revision
from salvor_admin.reviews.services import WantedItem
from salvor_admin.web import pagination


@require_safe
@in_workspace
def tools(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Client tools by name; the filter stands in the address."""
    chosen = selectors.read_filter(request.GET)
    page = pagination.keyset_page(
        selectors.client_tools_of(actor.workspace_id, chosen),
        ["label", "id"],
        cursor=request.GET.get("cursor"),
        limit=pagination.DEFAULT_LIMIT,
    )
    return render(
        request,
        "catalogue/tools.html",
        {
            "actor": actor,
            "page": page,
            "rows": selectors.rows(page.rows),
            "chosen": chosen.chosen,
            "filters": [
                (name, choices, getattr(chosen, name)) for name, choices in selectors.FILTERS.items() if choices
            ],
            "q": chosen.q,
            "publication": reviews.last_publication(actor.workspace_id),
            "may_draft": actor.has(Role.AUTHOR),
        },
    )


@require_safe
@in_workspace
def document(request: HttpRequest, actor: Actor, document_id: UUID) -> HttpResponse:
    """One client tool: what is live, what was, what is open; `revision` is shown, `against` compared with it."""
    found = selectors.client_tool(actor, document_id)
    histories = selectors.revision_histories(found)
    revisions = [each.revision for each in histories]
    chosen = _chosen(request, revisions, "revision") or found.live_revision or (revisions[0] if revisions else None)
    against = _chosen(request, revisions, "against")
    chosen = next((revision for revision in revisions if chosen and revision.pk == chosen.pk), chosen)
    tool = selectors.read(chosen) if chosen else None
    return render(
        request,
        "catalogue/document.html",
        {
            "actor": actor,
            "document": found,
            "histories": histories,
            "revisions": revisions,
            "chosen": chosen,
            "against": against,
            "change": comparing.compare(found.kind, against.body, chosen.body) if against and chosen else None,
            "tool": tool,
            "input": schema_tables.of_input(tool) if tool else None,
            "output": schema_tables.of_output(tool) if tool else None,
            "toml": selectors.toml_or_why(tool) if tool else "",
            "findings": reviews.findings_of_revision(chosen) if chosen else [],
            "open_request": reviews.open_request_of(found.pk),
            "sections": sections.sections_of(actor, found),
            # A tool that was served once may be served again; one that never was goes by its draft.
            "proposable": found.live_revision is not None or any(each.publications for each in histories),
            "may_draft": actor.has(Role.AUTHOR),
            "may_revoke": actor.has(Role.ADMIN),
        },
    )


def _chosen(request: HttpRequest, revisions: list[Revision], name: str) -> Revision | None:
    wanted = request.GET.get(name, "")
    if not wanted:
        return None
    found = next((revision for revision in revisions if str(revision.number) == wanted), None)
    if found is None:
        raise Refusal("not_found", "There is no such revision of this document; choose one of the list.", place=name)
    return found


@require_http_methods(["GET", "HEAD", "POST"])
@in_workspace
def import_files(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Many files into one change request, with a result per file."""
    form = ImportForm(request.POST, request.FILES) if request.method == "POST" else ImportForm()
    results: list[importing.FileResult] = []
    if request.method == "POST" and form.is_valid():
        reason = form.cleaned_data["reason"].strip()
        files = [
            importing.File(name=upload.name, raw=upload.read(importing.LARGEST_FILE + 1))
            for upload in form.cleaned_data["uploads"]
        ]
        try:
            done = importing.import_client_tools(actor=actor, files=files, reason=reason, submit=bool(reason))
        except Refusal as refusal:
            if refusal.place not in form.fields:
                raise
            form.add_error(refusal.place, refusal.message)
        else:
            if done.request is not None:
                verb = "submitted" if reason else "saved as a draft"
                messages.success(request, f"CR-{done.request.number} is {verb}, from {len(files)} file(s).")
                for result in done.results:
                    if result.note:
                        messages.warning(request, f"{result.file}: {result.note}")
                return redirect("reviews:change_request", workspace=actor.workspace_key, request_id=done.request.pk)
            results = done.results
    failed = bool(form.errors or results)
    return render(
        request,
        "catalogue/import.html",
        {"actor": actor, "form": form, "results": results, "may_draft": actor.has(Role.AUTHOR)},
        status=422 if failed else 200,
    )


@require_POST
@in_workspace
def propose(request: HttpRequest, actor: Actor, document_id: UUID) -> HttpResponse:
    """A change request that rolls back to an old revision, or removes the tool."""
    action = request.POST.get("action", "")
    number = request.POST.get("revision", "")
    if action == "set" and not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise Refusal("bad_request", "Name the revision to go back to by its number.", place="revision")
    row = reviews_services.open_change_request(
        actor=actor,
        items=[WantedItem(document_id, action=action, revision=int(number) if action == "set" else None)],
        reason=request.POST.get("reason", ""),
        submit=True,
    )
    messages.success(request, f"CR-{row.number} is in review.")
    return redirect("reviews:change_request", workspace=actor.workspace_key, request_id=row.pk)


@require_POST
@in_workspace
def revoke(request: HttpRequest, actor: Actor, document_id: UUID) -> HttpResponse:
    """Out of service at once; the typed name shows that this very tool is meant."""
    found = reviews_access.document(actor, document_id)
    if request.POST.get("typed_name", "") != found.label:
        raise Refusal("name_not_typed", f"Type {found.label} to show that it is the one to revoke.", place="typed_name")
    publication = publishing.revoke(document_id=document_id, reason=request.POST.get("reason", ""), actor=actor)
    messages.success(request, f"{found.label} is out of service since publication {publication.number}.")
    return redirect("catalogue:document", workspace=actor.workspace_key, document_id=document_id)
