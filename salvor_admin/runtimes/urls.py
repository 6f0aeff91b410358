"""Routes of runtimes."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from salvor_admin.runtimes import views

app_name = "runtimes"
urlpatterns: list[URLPattern | URLResolver] = [
    path("runtimes/", views.runtimes, name="list"),
    path("runtimes/register/", views.register, name="register"),
    path("runtimes/<uuid:runtime_id>/", views.runtime, name="runtime"),
    path("runtimes/<uuid:runtime_id>/change/", views.change, name="change"),
    path("runtimes/<uuid:runtime_id>/tokens/", views.create_token, name="create_token"),
    path("runtimes/tokens/<int:token_id>/revoke/", views.revoke_token, name="revoke_token"),
]
