"""Routes of the first page and of the machine's questions."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from salvor_admin.home import trail, views

app_name = "home"
urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.start, name="start"),
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("w/<slug:workspace>/", views.workspace, name="workspace"),
    path("w/<slug:workspace>/audit/", trail.entries, name="audit"),
    path("w/<slug:workspace>/audit/export/", trail.export, name="audit_export"),
    path("w/<slug:workspace>/audit/<int:number>/", trail.entry, name="audit_entry"),
]
