"""Calls to look at: one of each way a call can go, made as a runtime and a settler make them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.db import transaction

from salvor_admin.domain.events import Envelope, Event, Kind
from salvor_admin.domain.ledger import Failure, ReportRefused, ToolAsk
from salvor_admin.domain.settling import Outcome, ReasonCode
from salvor_admin.ledger import leases
from salvor_admin.ledger import services as ledger
from salvor_admin.ledger.models import Intent, Run
from salvor_admin.ledger.scenes import Door, hashed
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace
from salvor_admin.settlement import evidence, services
from salvor_admin.web.clock import database_now

AGENT: Final = "sha256:" + "c4" * 32
LABELS: Final = {"source": "demo"}
_RUN_IDS: Final = uuid.UUID("6f1d7a52-0f0b-5c1e-9a53-2f6f7c0de500")


def ensure_calls(workspace: Workspace, *, token: str, settler: Actor) -> None:
    """Makes each call whose run is not there yet."""
    for thread, make in _CALLS.items():
        run_id = str(uuid.uuid5(_RUN_IDS, thread))
        if not Run.objects.filter(workspace=workspace, run_id=run_id).exists():
            with transaction.atomic():
                make(_Driver.begin(token, run_id, thread), settler)


@dataclass(slots=True)
class _Driver:
    """Drives one run to where it is to stand."""

    door: Door
    run_id: str
    next_seq: int = 0

    @classmethod
    def begin(cls, token: str, run_id: str, thread: str) -> _Driver:
        opened = leases.open_run(
            Door(hashed(token), run_id), fresh_token=f"dt_{uuid.uuid4().hex}", record_prompts=False
        )
        driver = cls(Door(hashed(token), run_id, opened.drive_token), run_id)
        driver.append(Kind.RUN_STARTED, agent_def_hash=AGENT, input={"thread": thread}, labels=LABELS)
        return driver

    def append(self, kind: Kind, **payload: Any) -> None:
        envelope = Envelope(self.run_id, self.next_seq, 1, Event(kind, payload))
        ledger.append_events(self.door, [envelope])
        self.next_seq += 1

    def ask(self, tool: str, **input: Any) -> Intent:
        """Opens a call; the run now waits for what came of it."""
        ledger.record_intent(self.door, ToolAsk(self.next_seq, tool, input))
        self.next_seq += 1
        return Intent.objects.get(run__run_id=self.run_id, seq=self.next_seq - 1)

    def report(self, answer: dict[str, Any] | Failure) -> None:
        """Says what came of the call; when that is refused the call waits for a person."""
        seq = self.next_seq - 1
        said = {"error": {"message": answer.message}} if isinstance(answer, Failure) else {"output": answer}
        try:
            ledger.record_completion(
                self.door, ledger.ToolReport(seq, answer, json.dumps({"seq": seq, **said}).encode())
            )
        except ReportRefused:
            return
        self.next_seq += 1

    def finish(self, output: Any) -> None:
        self.append(Kind.RUN_COMPLETED, output=output)
        self.leave()

    def leave(self) -> None:
        leases.release_run(self.door)


def _refunded(driver: _Driver, settler: Actor) -> None:
    driver.ask("order_status", order_id="ORD-7781")
    driver.report({"status": "returned"})
    driver.ask("refund_card", order_id="ORD-7781", amount_cents=5000)
    driver.report({"provider_refund_id": "re_3PqT81Kd9f", "amount_cents": 5000})
    driver.finish("Refunded in full.")


def _declined(driver: _Driver, settler: Actor) -> None:
    driver.ask("refund_card", order_id="ORD-7784", amount_cents=1990)
    driver.report(Failure("the card has expired"))
    driver.finish("The card has expired; the customer was asked for another.")


def _differs(driver: _Driver, settler: Actor) -> None:
    driver.ask("refund_card", order_id="ORD-7782", amount_cents=12900)
    driver.report({"provider_refund_id": "re_3PqU02Lm4c", "amount_cents": 12400})
    driver.leave()


def _settled(driver: _Driver, settler: Actor) -> None:
    call = driver.ask("refund_card", order_id="ORD-7783", amount_cents=4200)
    driver.report({"provider_refund_id": "re_3PqU11Qw8a", "amount_cents": 420})
    driver.leave()
    claim = services.claim_case(intent_id=call.pk, actor=settler)
    evidence.add_evidence(
        intent_id=call.pk, actor=settler, text="Provider's page, refund re_3PqU11Qw8a: succeeded, 42.00 to the card."
    )
    services.settle_call(
        intent_id=call.pk,
        actor=settler,
        outcome=Outcome.LANDED,
        output={"provider_refund_id": "re_3PqU11Qw8a", "amount_cents": 4200},
        reason="The provider shows the whole amount; the runtime's report lost a digit.",
        reason_code=ReasonCode.SEEN_AT_PROVIDER.value,
        claim_id=claim.pk,
    )


def _payout_waits(driver: _Driver, settler: Actor) -> None:
    driver.ask("wire_payout", reference="PAY-2031", payee_iban="DE89370400440532013000", amount_cents=184250)
    driver.leave()


def _payout_unknown(driver: _Driver, settler: Actor) -> None:
    call = driver.ask("wire_payout", reference="PAY-2032", payee_iban="NL91ABNA0417164300", amount_cents=76000)
    driver.leave()
    evidence.add_note(
        intent_id=call.pk, actor=settler, text="The bank's portal lists nothing yet; asked them by phone."
    )
    services.leave_unknown(
        intent_id=call.pk,
        actor=settler,
        reason="Not on the statement yet.",
        look_again_at=database_now() + timedelta(minutes=30),
    )


def _silent(driver: _Driver, settler: Actor) -> None:
    """Opened, and never heard of again."""
    driver.ask("refund_card", order_id="ORD-7785", amount_cents=2500)


_CALLS: Final[dict[str, Callable[[_Driver, Actor], None]]] = {
    "order-7781": _refunded,
    "order-7784": _declined,
    "order-7782": _differs,
    "order-7783": _settled,
    "payout-2031": _payout_waits,
    "payout-2032": _payout_unknown,
    "order-7785": _silent,
}
