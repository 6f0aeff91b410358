"""Reading request bodies: strict JSON, and no more of it than is taken at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any, Final

from rest_framework.parsers import BaseParser

from salvor_admin.domain import strict_json
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json

MAX_BODY_BYTES: Final = 2 * 1024 * 1024


def _too_large() -> Refusal:
    return Refusal(
        "payload_too_large",
        f"A body holds at most {MAX_BODY_BYTES} bytes, and nothing of this one was read; send less at once.",
        details={"limit": MAX_BODY_BYTES},
    )


class StrictJson(BaseParser):
    """One JSON value in UTF-8; what storage or another reader would read differently is refused."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Json:
        request = (parser_context or {}).get("request")
        declared = str(request.META.get("CONTENT_LENGTH") or "") if request is not None else ""
        if declared.isdecimal() and int(declared) > MAX_BODY_BYTES:
            raise _too_large()
        raw = stream.read(MAX_BODY_BYTES + 1)
        if len(raw) > MAX_BODY_BYTES:
            raise _too_large()
        return strict_json.read_strict(raw)
