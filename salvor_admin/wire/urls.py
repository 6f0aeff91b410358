"""Routes of wire."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver

app_name = "wire"
urlpatterns: list[URLPattern | URLResolver] = []
