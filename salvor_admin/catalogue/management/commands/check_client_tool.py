"""`manage.py check_client_tool`: whether files declare client tools, and what a reviewer would see; no database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from salvor_admin.domain import client_tools, documents
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.review import Kind


class Command(BaseCommand):
    help = "Judge client tool files (TOML) by every rule that import would; exits with 1 when one is refused."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", metavar="FILE", nargs="+", help="a TOML file that declares one tool")
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
        if report["accepted"]:
            self.stdout.write(f"{report['file']}: {report['name']} {report['digest']}")
        else:
            self.stderr.write(f"{report['file']}: {report['refusal']['message']} [{report['refusal']['code']}]")
        for finding in report["findings"]:
            self.stderr.write(
                f"{report['file']}: {finding['severity']}: {finding['code']} at {finding['place'] or 'the top'}: "
                f"{finding['reason']} {finding['remedy']}"
            )


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _report(file: str) -> dict[str, Any]:
    report: dict[str, Any] = {
        "file": file,
        "accepted": False,
        "refusal": None,
        "name": None,
        "digest": None,
        "findings": [],
    }
    try:
        tool = client_tools.from_toml(_bytes_of(file))
        reading = documents.read(Kind.CLIENT_TOOL, client_tools.to_document(tool))
    except Refusal as refusal:
        return report | {
            "refusal": {"code": refusal.code, "message": refusal.message, "place": refusal.place},
        }
    return report | {
        "accepted": True,
        "name": tool.name,
        "digest": reading.digest,
        "findings": [
            {
                "code": finding.code,
                "severity": str(finding.severity),
                "place": finding.place,
                "reason": finding.reason,
                "remedy": finding.remedy,
            }
            for finding in reading.findings
        ],
    }


def _bytes_of(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise Refusal(
            "not_found", f"The file cannot be opened: {error.strerror}. Name a file that can be read.", place=file
        ) from None
