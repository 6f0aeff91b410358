"""`manage.py check_listing`: what an MCP server's `tools/list` results would be drafted to; no database."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from salvor_admin.catalogue import local_files
from salvor_admin.domain import drafting
from salvor_admin.domain.drafting import ListedTool
from salvor_admin.domain.findings import listings
from salvor_admin.domain.findings.finding import Finding, Severity
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json, pointer


class Command(BaseCommand):
    help = "Draft a grant for every tool of a tools/list result; exits with 1 when one cannot be granted as it is."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", metavar="FILE", nargs="+", help="a JSON file holding one tools/list result")
        parser.add_argument("--server", required=True, metavar="ALIAS", help="the deployment's name for the server")
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *args: Any, files: list[str], server: str, format: str, **options: Any) -> None:
        reports = [_report(file, server) for file in files]
        if format == "json":
            self.stdout.write(json.dumps({"files": reports}, ensure_ascii=False))
        else:
            for report in reports:
                self._tell(report)
        tools = [tool for report in reports for tool in report["tools"]]
        wrong = sum(1 for tool in tools if _is_wrong(tool)) + sum(1 for report in reports if "refusal" in report)
        if wrong:
            raise CommandError(f"{wrong} of {len(tools)} listed tools or their files cannot be granted as they are.")
        self.stderr.write(f"{len(tools)} listed tools can be drafted.")

    def _tell(self, report: dict[str, Any]) -> None:
        if "refusal" in report:
            self.stderr.write(f"{report['file']}: {report['refusal']['message']} [{report['refusal']['code']}]")
        for tool in report["tools"]:
            if tool["refusal"] is None:
                self.stdout.write(f"{report['file']}: {tool['reference']} {tool['listing_digest']}")
            else:
                self.stderr.write(f"{report['file']}: {tool['refusal']['message']} [{tool['refusal']['code']}]")
            for finding in tool["findings"]:
                self.stderr.write(
                    f"{report['file']}: {tool['reference']}: {finding['severity']}: {finding['code']} at "
                    f"{finding['place'] or 'the top'}: {finding['reason']} {finding['remedy']}"
                )


def _is_wrong(tool: dict[str, Any]) -> bool:
    blocked = any(finding["severity"] == Severity.BLOCK for finding in tool["findings"])
    return not tool["accepted"] or blocked


def _report(file: str, server: str) -> dict[str, Any]:
    try:
        listed = drafting.read_page(local_files.read_start(file, drafting.MOST_BYTES))
    except Refusal as refusal:
        return {"file": file, "tools": [], "refusal": _refusal(refusal)}
    read = [_read(each, server, pointer("/tools", index)) for index, each in enumerate(listed)]
    found = iter(listings.find_all([each for each in read if isinstance(each, ListedTool)]))
    tools = [
        _refused(each, raw, server) if isinstance(each, Refusal) else _tool(each, next(found))
        for each, raw in zip(read, listed, strict=True)
    ]
    return {"file": file, "tools": tools}


def _read(listed: Json, server: str, place: str) -> ListedTool | Refusal:
    try:
        return drafting.read_tool(listed, server, place=place)
    except Refusal as refusal:
        return refusal


def _refused(refusal: Refusal, raw: Json, server: str) -> dict[str, Any]:
    name = raw.get("name") if isinstance(raw, dict) else None
    return {
        "reference": f"tool://{server}/{name}" if isinstance(name, str) else None,
        "accepted": False,
        "refusal": _refusal(refusal),
        "listing_digest": None,
        "draft": None,
        "draft_kept": None,
        "findings": [],
    }


def _tool(read: ListedTool, found: list[Finding]) -> dict[str, Any]:
    refusal: Refusal | None = None
    try:
        drafting.check_reference(read)
    except Refusal as refused:
        refusal = refused
    return {
        "reference": read.reference,
        "accepted": refusal is None,
        "refusal": None if refusal is None else _refusal(refusal),
        "listing_digest": read.listing_digest,
        "draft": drafting.draft(read).tree(),
        "draft_kept": drafting.draft_kept(read).tree(),
        "findings": list(map(_finding, found)),
    }


def _refusal(refusal: Refusal) -> dict[str, Any]:
    return {"code": refusal.code, "message": refusal.message, "place": refusal.place}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": str(finding.severity),
        "place": finding.place,
        "reason": finding.reason,
        "remedy": finding.remedy,
    }
