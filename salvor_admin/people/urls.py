"""Routes of people."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from salvor_admin.people import views

app_name = "people"
urlpatterns: list[URLPattern | URLResolver] = [
    path("sign-in/", views.SignIn.as_view(), name="sign_in"),
    path("sign-out/", views.SignOut.as_view(), name="sign_out"),
    path("password/", views.change_password, name="change_password"),
    path("w/<slug:workspace>/people/", views.people, name="people"),
    path("w/<slug:workspace>/people/add/", views.add_person, name="add_person"),
    path("w/<slug:workspace>/people/<int:person_id>/roles/", views.change_roles, name="change_roles"),
    path("w/<slug:workspace>/people/<int:person_id>/deactivate/", views.deactivate, name="deactivate"),
    path("w/<slug:workspace>/people/<int:person_id>/reactivate/", views.reactivate, name="reactivate"),
    path("w/<slug:workspace>/settings/", views.settings, name="settings"),
    path("w/<slug:workspace>/settings/tokens/", views.create_token, name="create_token"),
    path("w/<slug:workspace>/settings/tokens/<int:token_id>/revoke/", views.revoke_token, name="revoke_token"),
]
