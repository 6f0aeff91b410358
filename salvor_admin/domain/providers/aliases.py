"""A shorter name for a tool whose own name a provider would refuse."""

from __future__ import annotations

import hashlib
import re

ALIAS_LENGTH = 64
_HASH_LENGTH = 12
_OUTSIDE = re.compile(r"[^A-Za-z0-9_-]")


def stable_alias(server: str, name: str) -> str:
    """A name every provider takes, the same for the same server and name on every host and after every restart.

    Two long names that begin alike keep apart by the hash of server and whole name.
    """
    digest = hashlib.sha256(f"{server}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    readable = _OUTSIDE.sub("-", name)
    if not readable[:1].isalpha():
        readable = f"t{readable}"
    return f"{readable[: ALIAS_LENGTH - _HASH_LENGTH - 1]}-{digest}"
