"""The bench measures what the design promises; no test here looks at a clock."""

from __future__ import annotations

import inspect

import pytest

from tests.bench import rows
from tests.bench.budgets import BUDGETS, Budget
from tests.bench.load import is_whole

#: Section 9 of the design, as far as it is measured here: row, bound, and whether less is better.
PROMISED = {
    "write": (0.65, False),
    "write-pgbench": (0.18, False),
    "run-length": (1.2, True),
    "runs-list": (1.3, True),
    "inbox": (1.3, True),
    "catalogue": (0.5, False),
    "start": (10.0, True),
}


def test_the_budgets_are_those_of_the_design() -> None:
    assert {row: (budget.limit, budget.at_most) for row, budget in BUDGETS.items()} == PROMISED


def test_every_budget_is_held_against_something_measured() -> None:
    measured = "".join(inspect.getsource(row) for row in rows.ROWS.values())
    assert [row for row in BUDGETS if f'"{row}"' not in measured] == []


def test_the_full_bench_takes_the_median_of_three_rounds_at_the_promised_sizes() -> None:
    assert (rows.FULL.rounds, rows.FULL.seconds) == (3, 3.0)
    assert (rows.FULL.many, rows.FULL.few) == (1_000_000, 1000)


@pytest.mark.parametrize(
    ("at_most", "value", "met"),
    [(False, 0.65, True), (False, 0.64, False), (True, 1.2, True), (True, 1.21, False)],
)
def test_a_budget_is_met_up_to_its_very_bound(at_most: bool, value: float, met: bool) -> None:
    assert Budget("row", "words", 1.2 if at_most else 0.65, at_most=at_most).is_met(value) is met


@pytest.mark.parametrize(
    ("answer", "whole"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", True),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{", False),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n", False),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", True),
        (b"HTTP/1.1 304 Not Modified\r\netag: x\r\n\r\n", True),
        (b"HTTP/1.1 304 Not Modified\r\n", False),
    ],
)
def test_the_load_waits_for_whole_answers(answer: bytes, whole: bool) -> None:
    assert is_whole(answer) is whole
