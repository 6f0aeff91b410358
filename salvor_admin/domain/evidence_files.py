"""What may be kept as evidence: texts, links and files, by size and type (limits of 2026-12)."""

from __future__ import annotations

import unicodedata
from typing import Final
from urllib.parse import urlsplit

from salvor_admin.domain.refusals import Refusal

LONGEST_TEXT: Final = 20_000
LONGEST_LINK: Final = 2_000
LARGEST_FILE: Final = 10 * 1024 * 1024

# Ending -> (content type, how such a file begins; empty: it must read as UTF-8 text).
TYPES: Final[dict[str, tuple[str, tuple[bytes, ...]]]] = {
    "png": ("image/png", (b"\x89PNG\r\n\x1a\n",)),
    "jpg": ("image/jpeg", (b"\xff\xd8\xff",)),
    "jpeg": ("image/jpeg", (b"\xff\xd8\xff",)),
    "pdf": ("application/pdf", (b"%PDF-",)),
    "txt": ("text/plain; charset=utf-8", ()),
    "log": ("text/plain; charset=utf-8", ()),
    "csv": ("text/csv; charset=utf-8", ()),
    "json": ("application/json", ()),
    "eml": ("message/rfc822", ()),
}


def read_text(text: str, *, what: str = "text", longest: int = LONGEST_TEXT) -> str:
    """Words as they are kept."""
    words = text.replace("\r\n", "\n").strip()
    if not words:
        raise Refusal("bad_request", f"The {what} is empty; write it, or leave it away.", place=what)
    if "\0" in words:
        raise Refusal("bad_request", f"The {what} holds the NUL character; leave it out.", place=what)
    if len(words) > longest:
        raise Refusal(
            "bad_request", f"The {what} has {len(words)} characters and may have {longest}; shorten it.", place=what
        )
    return words


def read_link(text: str) -> str:
    """An address of the web, and of nothing else: a link of another scheme would act when somebody follows it."""
    link = read_text(text, what="link", longest=LONGEST_LINK)
    try:
        parts = urlsplit(link)
        is_web = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        is_web = False
    if not is_web or any(unicodedata.category(char) in {"Cc", "Cf", "Zs", "Zl", "Zp"} for char in link):
        raise Refusal(
            "bad_request", "A link begins with https:// or http://, names a host and holds no spaces.", place="link"
        )
    return link


def read_file_name(name: str) -> str:
    """The name somebody's file had, for showing and downloading; never a path."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    plain = "".join(char for char in last if unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co"}).strip(" .")
    return plain[-200:] or "file"


def content_type(name: str, *, size: int, start: bytes) -> str:
    """What the file is, by its ending and how it begins; raises when such a file is not taken."""
    if size > LARGEST_FILE:
        raise Refusal(
            "payload_too_large",
            f"The file has {size // 1024} kB and may have {LARGEST_FILE // 1024}; keep it elsewhere and add a link.",
            place="file",
        )
    if size == 0:
        raise Refusal("bad_request", "The file is empty; choose one that shows something.", place="file")
    ending = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    if ending not in TYPES:
        raise Refusal(
            "unsupported_media_type",
            f"A file ending in {ending[:20] or 'nothing'} is not taken; the endings are {', '.join(TYPES)}.",
            place="file",
        )
    kind, beginnings = TYPES[ending]
    fits = start.startswith(beginnings) if beginnings else _is_text(start)
    if not fits:
        raise Refusal(
            "unsupported_media_type",
            f"The file ends in {ending}, but its content is something else; save it as what it is and add it again.",
            place="file",
        )
    return kind


def _is_text(start: bytes) -> bool:
    if b"\0" in start:
        return False
    try:
        start.decode()
    except UnicodeDecodeError as error:
        # The sample may end in the middle of a character.
        return error.start > len(start) - 4
    return True
