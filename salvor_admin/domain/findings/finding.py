"""A finding, and the version of the rules that made it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

#: Rises with every change of what is found; stored beside each finding.
RULE_SET: Final = 2


class Severity(StrEnum):
    BLOCK = "block"
    WARN = "warn"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to see: `place` is a JSON pointer into the document."""

    code: str
    severity: Severity
    place: str
    reason: str
    remedy: str
