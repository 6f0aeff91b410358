"""Routes of reviews."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from salvor_admin.reviews import views

app_name = "reviews"
urlpatterns: list[URLPattern | URLResolver] = [
    path("reviews/", views.change_requests, name="list"),
    path("reviews/<uuid:request_id>/", views.change_request, name="change_request"),
    path("reviews/<uuid:request_id>/submit/", views.submit, name="submit"),
    path("reviews/<uuid:request_id>/verdict/", views.verdict, name="verdict"),
    path("reviews/<uuid:request_id>/publish/", views.publish, name="publish"),
    path("reviews/<uuid:request_id>/withdraw/", views.withdraw, name="withdraw"),
    path("reviews/<uuid:request_id>/comment/", views.comment, name="comment"),
    path("documents/<uuid:document_id>/revisions/<int:number>/text/", views.revision_text, name="revision_text"),
]
