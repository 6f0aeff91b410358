"""Routes of settlement."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver

app_name = "settlement"
urlpatterns: list[URLPattern | URLResolver] = []
