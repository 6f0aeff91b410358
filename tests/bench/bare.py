"""What the product is measured against: Django views that keep none of its promises.

`/append/N` is the bare write: a run's head read, then one statement that moves it only if it is still the one read and
inserts the event, both prepared, straight on psycopg, autocommit. `/empty` and `/drf` answer without doing anything.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import django
import psycopg
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path

settings.configure(
    SECRET_KEY="for nothing",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    MIDDLEWARE=[],
    INSTALLED_APPS=["rest_framework"],
    DATABASES={},
    USE_I18N=False,
    REST_FRAMEWORK={"UNAUTHENTICATED_USER": None, "UNAUTHENTICATED_TOKEN": None},
)
django.setup()

from rest_framework.renderers import JSONRenderer  # noqa: E402
from rest_framework.request import Request  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.views import APIView  # noqa: E402

READ = "SELECT next_seq FROM bench_run WHERE id = %(run)s"
WRITE = """
WITH moved AS (
  UPDATE bench_run SET next_seq = next_seq + 1, moved_at = statement_timestamp()
  WHERE id = %(run)s AND next_seq = %(was)s RETURNING id
), written AS (
  INSERT INTO bench_event (run_id, seq, kind, payload, recorded_at)
  SELECT id, %(was)s, 'ToolCallRequested', %(payload)s, statement_timestamp() FROM moved
)
SELECT EXISTS (SELECT FROM moved)
"""

_mine = threading.local()


def connection() -> psycopg.Connection[Any]:
    if not hasattr(_mine, "connection"):
        _mine.connection = psycopg.connect(os.environ["SALVOR_BENCH_DATABASE_URL"], autocommit=True)
    found: psycopg.Connection[Any] = _mine.connection
    return found


def append(request: HttpRequest, run: int) -> HttpResponse:
    payload = request.read().decode()
    database = connection()
    while True:
        row = database.execute(READ, {"run": run}, prepare=True).fetchone()
        assert row is not None
        was = row[0]
        done = database.execute(WRITE, {"run": run, "was": was, "payload": payload}, prepare=True).fetchone()
        if done is not None and done[0]:
            return HttpResponse(f'{{"seq":{was}}}'.encode(), content_type="application/json")


def empty(request: HttpRequest) -> HttpResponse:
    return HttpResponse(b"{}", content_type="application/json")


class Empty(APIView):
    authentication_classes = ()
    permission_classes = ()
    renderer_classes = (JSONRenderer,)

    def get(self, request: Request) -> Response:
        return Response({})


urlpatterns = [path("append/<int:run>", append), path("empty", empty), path("drf", Empty.as_view())]
application = get_wsgi_application()
