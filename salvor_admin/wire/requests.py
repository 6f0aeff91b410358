"""One request on `/v1`: its bearer token, its run, its body; judged in the contract's order (6.0)."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import parse_qsl

from django.http import HttpRequest

from salvor_admin.domain import run_ids
from salvor_admin.domain.refusals import Refusal
from salvor_admin.ledger import scenes
from salvor_admin.ledger.scenes import Door

MAX_BODY: Final = 2 * 1024 * 1024
MAX_TOKEN: Final = 200
_U64: Final = 2**64 - 1
_NUMBER: Final = re.compile(r"[0-9]+")


class WireRequest:
    """What a view needs of the HTTP request."""

    def __init__(self, http: HttpRequest, run: str | None = None) -> None:
        self.http = http
        self._meta: dict[str, Any] = http.META
        self.run_text = run
        self.run_id = None if run is None else run_ids.read(run)

    @property
    def token(self) -> str:
        """The bearer token, or `unauthorized`: the header must be exactly `Bearer <token>` (contract 10.1)."""
        # Of a doubled header the first counts; servers hand them on joined by a comma, which no token holds.
        header = self._meta.get("HTTP_AUTHORIZATION", "").partition(",")[0].strip(" \t")
        scheme, _, token = header.partition(" ")
        if scheme != "Bearer" or not token or " " in token or len(token) > MAX_TOKEN:
            raise scenes.UnknownToken
        return str(token)

    def door(self, refusal: Refusal | None = None) -> Door:
        """What stands before the run; raises `unauthorized` when there is no bearer token at all."""
        drive_token = self._meta.get("HTTP_X_DRIVE_TOKEN")
        if drive_token is not None:
            drive_token = drive_token.partition(",")[0].strip(" \t")
        return Door(scenes.hashed(self.token), self.run_id, drive_token, refusal)

    def body(self) -> tuple[bytes, Refusal | None]:
        """The body, or why it is not read."""
        length = self._meta.get("CONTENT_LENGTH") or ""
        if length.isdecimal() and int(length) > MAX_BODY:
            return b"", _too_large()
        if length.isdecimal():
            return self.http.read(int(length)), None
        if "chunked" in self._meta.get("HTTP_TRANSFER_ENCODING", "").lower():
            raw = self._meta["wsgi.input"].read(MAX_BODY + 1)
            return (b"", _too_large()) if len(raw) > MAX_BODY else (raw, None)
        return b"", None

    def parameters(self, *names: str) -> dict[str, str]:
        """The named query parameters; others are ignored, one given twice is refused."""
        found: dict[str, str] = {}
        for name, value in parse_qsl(self._meta.get("QUERY_STRING", ""), keep_blank_values=True):
            if name in names:
                if name in found:
                    raise _bad_query(name, "is given twice; give it once")
                found[name] = value
        return found

    def from_seq(self) -> int:
        """The position to read from (contract 6.4)."""
        text = self.parameters("from_seq").get("from_seq", "0")
        return read_number(text, "from_seq")


def read_number(text: str, name: str, *, least: int = 0, most: int = _U64) -> int:
    """A whole number in a query."""
    if _NUMBER.fullmatch(text) is None or len(text) > 20 or not least <= int(text) <= most:
        raise _bad_query(name, f"must be a whole number from {least} to {most}")
    return int(text)


def _bad_query(name: str, why: str) -> Refusal:
    return Refusal("bad_request", f"The query cannot be used: `{name}` {why}.", place=name)


def _too_large() -> Refusal:
    return Refusal(
        "payload_too_large", f"The body is larger than {MAX_BODY} bytes. Send less at once; nothing of it was read."
    )
