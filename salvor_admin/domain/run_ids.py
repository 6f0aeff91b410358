"""Run ids: read in every UUID spelling, written in one."""

from __future__ import annotations

import re

_HYPHENATED = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_WRITTEN = re.compile(_HYPHENATED)
_BARE = re.compile(r"[0-9a-fA-F]{32}")
_ANY_CASE = re.compile(_HYPHENATED.replace("a-f", "a-fA-F"))


def read(text: str) -> str | None:
    """The id in lower-case hyphenated form, or None when the text is no UUID (contract 3.1)."""
    if _WRITTEN.fullmatch(text):
        return text
    if _BARE.fullmatch(text):
        digits = text.lower()
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
    if text.startswith("urn:uuid:"):
        text = text[9:]
    elif text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    return text.lower() if _ANY_CASE.fullmatch(text) else None
