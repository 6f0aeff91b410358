"""Routes of the catalogue."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from salvor_admin.catalogue import views

app_name = "catalogue"
urlpatterns: list[URLPattern | URLResolver] = [
    path("tools/", views.tools, name="tools"),
    path("tools/new/", views.new_tool, name="new_tool"),
    path("tools/import/", views.import_files, name="import"),
    path("tools/<uuid:document_id>/", views.document, name="document"),
    path("tools/<uuid:document_id>/edit/", views.edit_tool, name="edit_tool"),
    path("tools/<uuid:document_id>/propose/", views.propose, name="propose"),
    path("tools/<uuid:document_id>/revoke/", views.revoke, name="revoke"),
]
