"""Every route, by the app that answers it."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("v1/", include("salvor_admin.wire.urls")),
    path("api/", include("salvor_admin.api.urls")),
    path("", include("salvor_admin.web.urls")),
    path("", include("salvor_admin.people.urls")),
    path("", include("salvor_admin.home.urls")),
    path("w/<slug:workspace>/", include("salvor_admin.reviews.urls")),
    path("w/<slug:workspace>/", include("salvor_admin.catalogue.urls")),
    path("w/<slug:workspace>/", include("salvor_admin.runtimes.urls")),
    path("w/<slug:workspace>/", include("salvor_admin.settlement.urls")),
    path("w/<slug:workspace>/", include("salvor_admin.delivery.urls")),
]

handler400 = "salvor_admin.web.refusals_page.bad_request"
handler403 = "salvor_admin.web.refusals_page.forbidden"
handler404 = "salvor_admin.web.refusals_page.not_found"
handler500 = "salvor_admin.web.refusals_page.server_error"
