"""Pages that fail in every way a page can, for the tests beside this file."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET

from salvor_admin.domain.refusals import Refusal
from salvor_admin.web.htmx import render_page
from salvor_admin.web.sessions import signed_in


def refuse(request: HttpRequest, code: str) -> HttpResponse:
    raise Refusal(
        code, "The box <b>7</b> is shut\u200b; ask Grace to open it.", place="/box", details={"holder": "grace"}
    )


def missing(request: HttpRequest) -> HttpResponse:
    raise Http404


def forbidden(request: HttpRequest) -> HttpResponse:
    raise PermissionDenied


def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("a secret of the inside")


def fields(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(len(request.POST)))


@signed_in
def private(request: HttpRequest) -> HttpResponse:
    return HttpResponse("inside")


@require_GET
def read_only(request: HttpRequest) -> HttpResponse:
    return HttpResponse("read")


def whole(request: HttpRequest) -> HttpResponse:
    return render_page(request, "errors/refused.html", "_empty.html", {"icon_name": "check", "heading": "None"})


def elsewhere(request: HttpRequest) -> HttpResponse:
    return JsonResponse({})


urlpatterns = [
    path("", include("salvor_admin.web.urls")),
    path("", include(([path("sign-in/", read_only, name="sign_in")], "people"))),
    path("refuse/<str:code>/", refuse),
    path("open/refuse/<str:code>/", csrf_exempt(refuse)),
    path("missing/", missing),
    path("forbidden/", forbidden),
    path("broken/", broken),
    path("fields/", fields),
    path("private/", private),
    path("read-only/", read_only),
    path("whole/", whole),
    path("apart/here/", elsewhere),
    path("apart/refuse/<str:code>/", csrf_exempt(refuse)),
]

handler400 = "salvor_admin.web.refusals_page.bad_request"
handler403 = "salvor_admin.web.refusals_page.forbidden"
handler404 = "salvor_admin.web.refusals_page.not_found"
handler500 = "salvor_admin.web.refusals_page.server_error"
