"""Bearer tokens: 256 random bits behind a prefix, kept as a hash alone."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

RUNTIME_PREFIX: Final = "srt_"
PERSONAL_PREFIX: Final = "spt_"


def new_token(prefix: str) -> tuple[str, bytes]:
    """A fresh token and the hash to store; the token itself is shown once and kept nowhere."""
    token = prefix + secrets.token_urlsafe(32)
    return token, token_hash(token)


def token_hash(token: str) -> bytes:
    """SHA-256; enough for 256 random bits, and a look-up by it tells nothing by its timing."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def one_time_password() -> str:
    """A password to be changed at the first sign-in, in groups that can be read aloud."""
    alphabet = "abcdefghjkmnpqrstuvwxyz23456789"
    return "-".join("".join(secrets.choice(alphabet) for _ in range(5)) for _ in range(4))
