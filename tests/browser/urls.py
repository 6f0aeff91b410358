"""Small pages inside the real frame, for the tests of frame and script."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template import engines
from django.urls import include, path
from django.views.decorators.csrf import ensure_csrf_cookie

from salvor_admin.domain.refusals import Refusal
from salvor_admin.web.sessions import session_ended

EVIL = '<button hx-post="/approve/" hx-trigger="load">x</button><img src=x onerror="document.title=1">\u202e\u200b'

HEAD = '{% extends "base.html" %}{% block title %}Test{% endblock %}{% block main %}'
LIST = (
    HEAD
    + """
<div class="page"><header class="page-head">
<nav class="trail" aria-label="Path"><ol><li><a href="/home/">Home</a></li><li>List</li></ol></nav><h1>List</h1></header>
<form class="filters" method="get"><label class="unseen" for="f">Tool</label><input id="f" name="tool" type="search"></form>
<ul class="waiting">{% for n in "123" %}
<li><a class="waiting-row" href="/item/{{ n }}/"><span class="what">{{ n }}</span></a></li>{% endfor %}</ul>
<p>{% ident "run\u200b-7" "run id" %} {% time now %}</p>
<section data-refreshes hx-get="/part/" hx-trigger="again" hx-target="find div"><div>as first drawn</div></section>
</div>{% endblock %}"""
)
FORM = (
    HEAD
    + """
<div class="page"><header class="page-head"><h1>Item {{ n }}</h1></header>
<p><button class="button" type="button" data-key="c" data-key-label="claim" popovertarget="claim-box">Claim</button></p>
<div id="claim-box" popover>claimed</div>
{% include "_quoted.html" with writer="server payments" text=evil json=None %}
<form class="panel" method="post" action="/send/{{ way }}/"
{% if way != "plain" %} hx-post="/send/{{ way }}/" hx-target="#answer"{% endif %}>
<header><h2>Answer</h2></header><div class="panel-body">{% csrf_token %}<div class="notices" data-notices></div>
<div class="field"><label for="r">Reason</label><textarea id="r" name="reason"></textarea></div>
<label class="tick"><input type="checkbox" name="sure" value="yes"> <span>Sure</span></label>
<div class="field"><label for="p">Password</label><input id="p" name="password" type="password" autocomplete="off"></div>
<button class="button primary" type="submit" data-key="y" data-key-label="settle">Settle</button></div></form>
<div id="answer">nothing yet</div></div>{% endblock %}"""
)

posts: list[dict[str, str]] = []
approved: list[str] = []
parts = ["<p>3 wait</p>"]
session = {"alive": True}


def _shown(request: HttpRequest, source: str, context: dict[str, object]) -> HttpResponse:
    return HttpResponse(engines["django"].from_string(source).render(context, request))


@ensure_csrf_cookie
def listing(request: HttpRequest) -> HttpResponse:
    return _shown(request, LIST, {})


@ensure_csrf_cookie
def item(request: HttpRequest, n: str) -> HttpResponse:
    return _shown(request, FORM, {"n": n, "way": n, "evil": EVIL})


def send(request: HttpRequest, way: str) -> HttpResponse:
    if way == "ended" and not session["alive"]:
        return session_ended(request)
    posts.append({name: str(value) for name, value in request.POST.items()})
    if way == "refused":
        raise Refusal("wrong_state", f"Grace settled it first: {EVIL}; open its receipt.")
    if way == "text":
        return HttpResponse(EVIL, content_type="text/plain")
    if way == "proxy":
        return HttpResponse("<html><body><h1>Bad gateway</h1></body></html>", status=502)
    return HttpResponse('<p id="done">done</p>')


def part(request: HttpRequest) -> HttpResponse:
    return HttpResponse(parts[0])


def approve(request: HttpRequest) -> HttpResponse:
    approved.append("fired")
    return HttpResponse("")


def sign_in(request: HttpRequest) -> HttpResponse:
    session["alive"] = True
    return redirect(request.GET["next"])


urlpatterns = [
    path("", include("salvor_admin.web.urls")),
    path("", include(([path("sign-in/", sign_in, name="sign_in")], "people"))),
    path("home/", listing),
    path("list/", listing),
    path("item/<str:n>/", item),
    path("send/<str:way>/", send),
    path("approve/", approve),
    path("part/", part),
]
handler404 = "salvor_admin.web.refusals_page.not_found"
handler500 = "salvor_admin.web.refusals_page.server_error"
