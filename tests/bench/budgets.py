"""The budgets of the design, in one table: what is measured, against what, and how much must hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Budget:
    """What must hold: at least or at most this, in the unit that `words` names."""

    row: str
    words: str
    limit: float
    at_most: bool = False

    def is_met(self, value: float) -> bool:
        return value <= self.limit if self.at_most else value >= self.limit

    @property
    def asked(self) -> str:
        return f"{'at most' if self.at_most else 'at least'} {self.limit:g}"


BUDGETS: Final[Mapping[str, Budget]] = {
    budget.row: budget
    for budget in (
        Budget("write", "intent + completion on /v1, of the bare two-statement view", 0.65),
        Budget("write-pgbench", "intent + completion on /v1, of pgbench", 0.18),
        Budget("run-length", "intent + completion at run length 10,000, latency against 10", 1.2, at_most=True),
        Budget("runs-list", "GET /v1/runs?limit=50 at 1,000,000 runs, time against 1,000", 1.3, at_most=True),
        Budget("inbox", "inbox lists, filters, search at 1,000,000 calls, time against 1,000", 1.3, at_most=True),
        Budget("catalogue", "unchanged catalogue (304), of an empty DRF view", 0.5),
        Budget("start", "start of make up to the first page, seconds", 10.0, at_most=True),
    )
}
