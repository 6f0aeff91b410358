"""`manage.py judge_call`: whether one labelled tool call would pass the sink, and why not; no database."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from salvor_admin.catalogue import local_files
from salvor_admin.domain import call_cases
from salvor_admin.domain.refusals import Refusal

#: What stands for the sentence a model hears, which is the same for every cause.
FIXED_SENTENCE = "fixed refusal sentence"


class Command(BaseCommand):
    help = "Judge one call at the sink: tool, grant, agent, catalogue and labelled arguments, as a JSON file."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="a JSON file holding one case")
        parser.add_argument("--format", choices=["text", "json"], default="json")

    def handle(self, *args: Any, file: str, format: str, **options: Any) -> None:
        try:
            judged = call_cases.read_file(local_files.read_start(file, call_cases.MOST_BYTES)).judge()
        except Refusal as refusal:
            if format == "json":
                self.stdout.write(
                    json.dumps(
                        {"refusal": {"code": refusal.code, "message": refusal.message, "place": refusal.place}},
                        ensure_ascii=False,
                    )
                )
            raise CommandError(f"{file}: {refusal.message} [{refusal.code}]") from None
        told = None if judged.told is None else FIXED_SENTENCE
        if format == "json":
            answer = {"decision": judged.decision, "reason": judged.reason, "path": judged.path, "told": told}
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
            return
        reason = "" if judged.reason is None else f": {judged.reason}"
        where = "" if judged.path is None else f" at {judged.path or 'the whole value'}"
        source = "" if judged.source is None else f" (source {judged.source})"
        self.stdout.write(f"{judged.decision}{reason}{where}{source}")
