"""`make bench`: the budgets of the design, measured on this machine, in this run. Exit 1 when one is missed."""

from __future__ import annotations

import argparse
import json
import sys

from tests.bench.rows import FULL, QUICK, ROWS, Bench, Measured, as_json
from tests.bench.stand import BenchError, Stand


def told(measured: Measured) -> str:
    figures = ", ".join(f"{name} {value:,.2f}" for name, value in measured.figures.items())
    verdict = "met" if measured.is_met else "NOT met"
    note = f" ({measured.note})" if measured.note else ""
    return f"{verdict:>7}  {measured.value:6.2f}  {measured.budget.asked:<14} {measured.budget.words}: {figures}{note}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--only", action="append", choices=[*ROWS], metavar="NAME", help=f"one of {', '.join(ROWS)}")
    parser.add_argument("--quick", action="store_true", help="one short round of each: to see that it works")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    asked = parser.parse_args()

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    found: list[Measured] = []
    try:
        with Stand() as stand:
            bench = Bench(stand, QUICK if asked.quick else FULL, say)
            for name in asked.only or ROWS:
                say(f"{name}: {(ROWS[name].__doc__ or '').splitlines()[0]}")
                for measured in ROWS[name](bench):
                    found.append(measured)
                    if not asked.json:
                        print(told(measured), flush=True)
    except BenchError as error:
        say(str(error))
        return 1
    if asked.json:
        print(json.dumps({"rows": [as_json(measured) for measured in found]}, indent=2))
    return 0 if all(measured.is_met for measured in found) else 1


if __name__ == "__main__":
    sys.exit(main())
