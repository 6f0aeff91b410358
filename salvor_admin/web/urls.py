"""Routes of the frame itself."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from salvor_admin.web import preferences

app_name = "web"
urlpatterns: list[URLPattern | URLResolver] = [
    path("preferences/", preferences.choose, name="preferences"),
]
