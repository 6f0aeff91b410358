"""Routes of runtimes."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver

app_name = "runtimes"
urlpatterns: list[URLPattern | URLResolver] = []
