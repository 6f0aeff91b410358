"""`manage.py check_manifest`: whether agentplane would take manifest files, their digests, and the findings; no database."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from salvor_admin.catalogue import local_files
from salvor_admin.domain import manifests, yaml_values
from salvor_admin.domain.findings import grants as grant_findings
from salvor_admin.domain.refusals import Refusal


class Command(BaseCommand):
    help = "Judge agent manifests as agentplane does and print their digests; exits with 1 when one is refused."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", metavar="FILE", nargs="+", help="a YAML or JSON file of one or more manifests")
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *args: Any, files: list[str], format: str, **options: Any) -> None:
        reports = [_report(file) for file in files]
        if format == "json":
            self.stdout.write(json.dumps({"files": reports}, ensure_ascii=False))
        else:
            for report in reports:
                self._tell(report)
        refused = [report["file"] for report in reports if not report["accepted"]]
        if refused:
            raise CommandError(f"{len(refused)} of {_files(len(reports))} refused: {', '.join(refused)}")
        self.stderr.write(f"{_files(len(reports))} accepted.")

    def _tell(self, report: dict[str, Any]) -> None:
        for document in report["documents"]:
            self.stdout.write(f"{report['file']}: {document['name']} {document['version']} {document['digest']}")
        if report["refusal"] is not None:
            self.stderr.write(f"{report['file']}: {report['refusal']['message']} [{report['refusal']['code']}]")
        for finding in report["findings"]:
            self.stderr.write(
                f"{report['file']}: {finding['document']}: {finding['severity']}: {finding['code']} at "
                f"{finding['place'] or 'the top'}: {finding['reason']} {finding['remedy']}"
            )


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _report(file: str) -> dict[str, Any]:
    report: dict[str, Any] = {"file": file, "accepted": False, "refusal": None, "documents": [], "findings": []}
    try:
        read = manifests.read_file(local_files.read_start(file, yaml_values.MAX_BYTES))
    except Refusal as refusal:
        return report | {"refusal": {"code": refusal.code, "message": refusal.message, "place": refusal.place}}
    return report | {
        "accepted": True,
        "documents": [{"name": each.name, "version": each.version, "digest": each.digest} for each in read],
        "findings": [
            {
                "document": each.name,
                "code": finding.code,
                "severity": str(finding.severity),
                "place": finding.place,
                "reason": finding.reason,
                "remedy": finding.remedy,
            }
            for each in read
            for finding in grant_findings.find(each)
        ],
    }
