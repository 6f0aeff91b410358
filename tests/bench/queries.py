"""Counts the queries of pages: reads paths and headers as JSON, answers one number a path."""

from __future__ import annotations

import json
import sys
from typing import Any

import django

django.setup()

import psycopg  # noqa: E402
from django.test import Client  # noqa: E402


def main() -> int:
    asked = json.loads(sys.stdin.read())
    seen = 0
    plain = psycopg.Cursor.execute

    def counted(self: Any, *given: Any, **options: Any) -> Any:
        nonlocal seen
        seen += 1
        return plain(self, *given, **options)

    # Below Django's own counting, which does not see what goes straight to the driver.
    psycopg.Cursor.execute = counted  # type: ignore[method-assign]
    client = Client(SERVER_NAME="127.0.0.1")
    numbers = []
    for path in asked["paths"]:
        for _ in range(2):
            seen = 0
            answer = client.get(path, headers=asked["headers"])
            answer.getvalue()  # A streamed one makes its queries only now.
            if answer.status_code != 200:
                sys.stderr.write(f"{path} answers {answer.status_code}\n")
                return 1
        numbers.append(seen)
    print(json.dumps(numbers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
