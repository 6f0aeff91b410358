"""Routes of delivery."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from salvor_admin.delivery import views

app_name = "delivery"
urlpatterns: list[URLPattern | URLResolver] = [
    path("settings/mail/", views.mail, name="mail"),
    path("settings/mail/retry/", views.retry, name="retry"),
]
