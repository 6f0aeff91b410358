"""A finding, and the version of the rules that made it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

#: Rises with every change of what is found; stored beside each finding.
RULE_SET: Final = 3

MOST_OF_A_KIND: Final = 20


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


def first_of_each_kind(found: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, but of more than twenty of one kind only the first ones, and one that counts the rest."""
    seen: Counter[str] = Counter()
    last: dict[str, Finding] = {}
    for finding in found:
        seen[finding.code] += 1
        if seen[finding.code] <= MOST_OF_A_KIND:
            yield finding
        else:
            last[finding.code] = finding
    for code, finding in last.items():
        more = f"{seen[code] - MOST_OF_A_KIND} more places are like this one."
        yield Finding(code, finding.severity, finding.place, more, "Change them the same way.")
