"""How far a tool call reaches."""

from __future__ import annotations

from enum import StrEnum


class Effect(StrEnum):
    """`read` changes nothing, `idempotent` may be repeated, `write` must happen once (contract 2.1)."""

    READ = "read"
    IDEMPOTENT = "idempotent"
    WRITE = "write"
