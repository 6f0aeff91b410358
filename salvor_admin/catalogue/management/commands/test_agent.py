"""`manage.py test_agent`: an agent's grants tested as code is, call by call; no database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from salvor_admin.catalogue import local_files
from salvor_admin.domain import agent_tests, manifests, yaml_values
from salvor_admin.domain.agent_tests import Outcome
from salvor_admin.domain.refusals import Refusal


class Command(BaseCommand):
    help = "Judge the calls of test files against their agent's manifest; exits with 1 when one goes otherwise."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "files",
            metavar="FILE",
            nargs="+",
            help="a YAML file: agent (its manifest's path beside this file) and calls",
        )
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *args: Any, files: list[str], format: str, **options: Any) -> None:
        reports = [_report(file) for file in files]
        passed = sum(report["passed"] for report in reports)
        failed = sum(report["failed"] for report in reports)
        refused = [report for report in reports if report["refusal"] is not None]
        if format == "json":
            self.stdout.write(json.dumps({"files": reports, "passed": passed, "failed": failed}, ensure_ascii=False))
        else:
            for report in reports:
                self._tell(report)
            self.stdout.write(f"{passed} passed, {failed} failed")
        if refused:
            raise CommandError(f"{len(refused)} of {len(reports)} test files could not be run.")
        if failed:
            raise CommandError(f"{failed} of {passed + failed} calls went otherwise than expected.")

    def _tell(self, report: dict[str, Any]) -> None:
        if report["refusal"] is not None:
            self.stderr.write(f"{report['file']}: {report['refusal']['message']} [{report['refusal']['code']}]")
        for case in report["cases"]:
            if case["passed"]:
                self.stdout.write(f"ok      {case['name']}")
            else:
                self.stdout.write(f"FAILED  {case['name']}: expected {_put(case['expected'])}, got {_put(case['got'])}")


def _put(what: dict[str, Any]) -> str:
    reason = "" if what["reason"] is None else f" ({what['reason']}{_at(what.get('path'))})"
    return f"{what['decision']}{reason}"


def _at(path: str | None) -> str:
    return "" if path is None else f" at {path or 'the whole value'}"


def _report(file: str) -> dict[str, Any]:
    report: dict[str, Any] = {"file": file, "refusal": None, "cases": [], "passed": 0, "failed": 0}
    try:
        test = agent_tests.read_file(local_files.read_start(file, yaml_values.MAX_BYTES))
        read = manifests.read_file(local_files.read_start(Path(file).parent / test.agent, yaml_values.MAX_BYTES))
        outcomes = agent_tests.run(read, test.calls)
    except Refusal as refusal:
        return report | {"refusal": {"code": refusal.code, "message": refusal.message, "place": refusal.place}}
    passed = sum(1 for outcome in outcomes if outcome.passed)
    return report | {"cases": list(map(_case, outcomes)), "passed": passed, "failed": len(outcomes) - passed}


def _case(outcome: Outcome) -> dict[str, Any]:
    call, decision = outcome.call, outcome.decision
    return {
        "name": call.name,
        "passed": outcome.passed,
        "expected": {"decision": call.expect, "reason": call.reason},
        "got": {
            "decision": decision.decision,
            "reason": decision.reason,
            "path": decision.path,
            "told": decision.told,
        },
    }
