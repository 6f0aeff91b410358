"""Routes of the catalogue."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from salvor_admin.catalogue import downloads, editing, views

app_name = "catalogue"
urlpatterns: list[URLPattern | URLResolver] = [
    path("tools/", views.tools, name="tools"),
    path("tools/new/", editing.new_tool, name="new_tool"),
    path("tools/check/", editing.check, name="check"),
    path("tools/import/", views.import_files, name="import"),
    path("tools/export/", downloads.export_all, name="export_all"),
    path("tools/<uuid:document_id>/", views.document, name="document"),
    path("tools/<uuid:document_id>/export/", downloads.export_one, name="export_one"),
    path("tools/<uuid:document_id>/edit/", editing.edit_tool, name="edit_tool"),
    path("tools/<uuid:document_id>/propose/", views.propose, name="propose"),
    path("tools/<uuid:document_id>/revoke/", views.revoke, name="revoke"),
]
