"""One workspace with something of everything in it, made through the services."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from salvor_admin.domain.settling import Outcome
from salvor_admin.ledger.models import Intent
from salvor_admin.people import services as people
from salvor_admin.people.access import Actor
from salvor_admin.people.models import PersonalToken, Workspace
from salvor_admin.reviews import services as reviews
from salvor_admin.reviews.models import ChangeRequest, Document
from salvor_admin.reviews.services import WantedItem
from salvor_admin.runtimes import services as runtimes
from salvor_admin.runtimes.models import Runtime, RuntimeToken
from salvor_admin.settlement import evidence
from salvor_admin.settlement import services as settlement
from salvor_admin.settlement.models import Evidence
from tests.people.factories import PASSWORD, Cast
from tests.reviews.factories import a_published_tool, a_submitted_change, an_approved_change
from tests.settlement.factories import INPUT, OUTPUT, a_waiting_call


@dataclass
class Scene:
    """What routes need to name."""

    workspace: Workspace
    cast: Cast
    kim: Actor
    document: Document
    in_review: ChangeRequest
    approved: ChangeRequest
    draft: ChangeRequest
    runtime: Runtime
    runtime_token: RuntimeToken
    runtime_secret: str
    personal_token: PersonalToken
    #: A call that waits with a refused report, and evidence beside it.
    call: Intent
    evidence: Evidence
    #: A call that a person settled.
    settled: Intent

    def client(self, name: str) -> Client:
        """A signed-in browser without script."""
        client = Client()
        if name != "nobody":
            assert client.login(username=name, password=PASSWORD)
        return client

    def token(self, name: str, scope: str = "decide") -> str:
        """A personal token of one of the cast."""
        actor = self.kim if name == "kim" else self.cast.actor(name)
        return people.create_personal_token(
            person=actor.person, scope=scope, lives=timedelta(hours=1), actor=actor
        ).token


def make_scene(workspace: Workspace, cast: Cast, kim: Actor) -> Scene:
    ada, grace, pat, root = (cast.actor(name) for name in ("ada", "grace", "pat", "root"))
    cast.actor("noor")
    a_published_tool(author=ada, reviewer=grace, publisher=pat)
    document = Document.objects.get(workspace=workspace, key="refund_card")
    in_review = a_submitted_change(author=ada, name="wire_payout")
    approved = an_approved_change(author=ada, reviewer=grace, name="close_dispute")
    revision = reviews.save_revision(
        actor=ada,
        kind="client_tool",
        body={"name": "stock_level", "effect": "read", "input_schema": {"type": "object"}},
    )
    draft = reviews.open_change_request(actor=ada, items=[WantedItem(revision.document_id)])
    runtime = runtimes.register_runtime(name="checkout-eu-1", actor=root)
    made = runtimes.create_runtime_token(runtime_id=runtime.pk, actor=root, name="first")
    call, settled = a_waiting_call(cast), a_waiting_call(cast, input={**INPUT, "order_id": "ORD-7702"})
    settlement.settle_call(
        intent_id=settled.pk,
        actor=cast.actor("noor"),
        outcome=Outcome.LANDED,
        output=OUTPUT,
        reason="Seen at the provider.",
        reason_code="seen_at_provider",
    )
    personal = people.create_personal_token(person=ada.person, scope="read", lives=timedelta(hours=1), actor=ada).row
    return Scene(
        workspace=workspace,
        cast=cast,
        kim=kim,
        document=document,
        in_review=in_review,
        approved=approved,
        draft=draft,
        runtime=runtime,
        runtime_token=made.row,
        runtime_secret=made.token,
        personal_token=personal,
        call=call,
        settled=settled,
        evidence=evidence.add_evidence_file(
            intent_id=call.pk,
            actor=cast.actor("noor"),
            file=SimpleUploadedFile("refund.txt", b"re_3PqT81Kd9f succeeded", content_type="text/plain"),
        ),
    )
