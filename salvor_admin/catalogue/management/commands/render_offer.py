"""`manage.py render_offer`: a list of tools as one provider is sent them; no database."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from salvor_admin.catalogue import local_files
from salvor_admin.domain.providers import PROVIDERS, checks, offer_file, provider_named
from salvor_admin.domain.refusals import Refusal


class Command(BaseCommand):
    help = "Print the request member that carries these tools to one provider; refused where the provider would."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="a JSON list, one object a tool")
        parser.add_argument("--provider", required=True, metavar="NAME", help=f"one of {', '.join(PROVIDERS)}")
        parser.add_argument(
            "--as-reference", action="store_true", help="also where the provider would refuse the offer"
        )
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *args: Any, file: str, provider: str, as_reference: bool, format: str, **options: Any) -> None:
        try:
            target = provider_named(provider)
            offers = offer_file.read_offers(local_files.read_start(file, offer_file.MOST_BYTES))
            found = checks.check_offer(target, offers)
            rendered = target.render_offer(offers) if as_reference else checks.render_checked(target, offers)
        except Refusal as refusal:
            if format == "json":
                self.stdout.write(json.dumps({"refusal": _as_json(refusal)}))
            raise CommandError(f"{file}: {refusal.message} [{refusal.code}]") from None
        for each in found:
            finding = each.finding
            self.stderr.write(
                f"{finding.severity}: {finding.code} at {finding.place or 'the list'}: {finding.reason} {finding.remedy}"
            )
        tools = "1 tool" if len(offers) == 1 else f"{len(offers)} tools"
        self.stderr.write(f"Rendered {tools} for {target.title} (member {target.offer_member}).")
        self.stdout.write("null" if rendered.value is None else target.spell(rendered.value))


def _as_json(refusal: Refusal) -> dict[str, Any]:
    return {"code": refusal.code, "message": refusal.message, "place": refusal.place, **refusal.details}
