"""What a served product is set up with: one workspace, its people, one runtime, and exactly the tools asked for."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import django
from django.core.management import call_command

django.setup()

from salvor_admin.domain import client_tools, review  # noqa: E402
from salvor_admin.people import services as people  # noqa: E402
from salvor_admin.people.models import Workspace  # noqa: E402
from salvor_admin.people.services import Shell  # noqa: E402
from salvor_admin.reviews import publishing, selectors, services  # noqa: E402
from salvor_admin.reviews.models import Document  # noqa: E402
from salvor_admin.reviews.services import WantedItem  # noqa: E402
from salvor_admin.runtimes import services as runtimes  # noqa: E402
from tests.people.factories import Cast  # noqa: E402

DEFAULT_LEASE_TTL = 60


class Stage:
    def __init__(self, *, is_migrated: bool = False) -> None:
        if not is_migrated:
            call_command("migrate", interactive=False, verbosity=0)
        known = Workspace.objects.filter(key="default").first()
        self.workspace: Workspace = known or people.create_workspace(key="default", name="Default")
        self.cast = Cast(self.workspace)
        shell = Shell(self.workspace)
        self.runtime = runtimes.register_runtime(name="payouts-1", actor=shell)
        self.runtime_token = runtimes.create_runtime_token(runtime_id=self.runtime.pk, actor=shell).token
        self.settler_token = people.create_personal_token(
            person=self.cast.actor("noor").person, actor=shell, scope="decide", lives=timedelta(hours=12)
        ).token

    def declare(self, files: Mapping[str, str], lease_ttl: str | None = None) -> None:
        """Make exactly these tools live, and set how long a silent driver holds a run."""
        tools = {}
        for name in sorted(files):
            tool = client_tools.from_toml(files[name].encode())
            tools[tool.name] = tool
        runtimes.change_runtime(
            runtime_id=self.runtime.pk,
            actor=Shell(self.workspace),
            lease_ttl_seconds=int(lease_ttl or DEFAULT_LEASE_TTL),
        )
        ada = self.cast.actor("ada")
        items = []
        for tool in tools.values():
            revision = services.save_revision(actor=ada, kind="client_tool", body=client_tools.to_document(tool))
            if revision.document.live_revision_id != revision.pk:
                items.append(WantedItem(revision.document_id, revision=revision.number))
        gone = Document.objects.filter(workspace=self.workspace, live_revision__isnull=False).exclude(key__in=tools)
        items += [WantedItem(document.pk, action=review.Action.REMOVE.value) for document in gone]
        if items:
            self._publish(items)

    def _publish(self, items: list[WantedItem]) -> None:
        ada, grace, pat = (self.cast.actor(name) for name in ("ada", "grace", "pat"))
        request = services.open_change_request(actor=ada, items=items, reason="As asked.", submit=True)
        findings = selectors.detail(request).findings
        services.give_verdict(
            request_id=request.pk,
            actor=grace,
            verdict=review.Verdict.APPROVE,
            digest=request.digest,
            acknowledge={str(finding.pk): "Seen." for finding in findings if finding.severity == "block"},
        )
        publishing.publish(request_id=request.pk, actor=pat, digest=request.digest)
