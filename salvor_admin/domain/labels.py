"""Labels: where a value came from, how far it is trusted, how sensitive it is (contract 1)."""

from __future__ import annotations

from enum import StrEnum


class Sensitivity(StrEnum):
    """How much damage disclosure would do, from least to most."""

    PUBLIC = "public"
    INTERNAL = "internal"
    CONFIDENTIAL = "confidential"
    SECRET = "secret"  # noqa: S105

    @property
    def level(self) -> int:
        return list(Sensitivity).index(self)

    def above(self, ceiling: Sensitivity) -> bool:
        return self.level > ceiling.level


class Trust(StrEnum):
    """Whether a value may stand where authority is needed."""

    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"
