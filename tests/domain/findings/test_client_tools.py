"""Findings about client tools: each rule with cases that must be found, and realistic ones that must not."""

from __future__ import annotations

from typing import Any

import pytest

from salvor_admin.domain import client_tools
from salvor_admin.domain.client_tools import ABSENT
from salvor_admin.domain.findings import client_tools as rules
from salvor_admin.domain.findings.finding import Finding, Severity
from salvor_admin.domain.refusals import Refusal

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


def an_object(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": properties}


REFUND: dict[str, Any] = {
    "name": "refund_card",
    "effect": "write",
    "input_schema": an_object("order_id", "amount_cents", order_id=TEXT, amount_cents=WHOLE),
    "output_schema": an_object("amount_cents", "refund_id", amount_cents=WHOLE, refund_id=TEXT),
    "trust_completion": True,
    "require_equal": ["amount_cents"],
    "idempotency_key": ["order_id", "amount_cents"],
}
STOCK: dict[str, Any] = {
    "name": "stock_level",
    "effect": "read",
    "input_schema": an_object("sku", sku=TEXT),
    "output_schema": an_object("count", count=WHOLE),
    "trust_completion": True,
}


def found(body: dict[str, Any], **changes: Any) -> list[Finding]:
    members = {name: value for name, value in {**body, **changes}.items() if value is not ABSENT}
    return rules.find(client_tools.from_document(members))


def told(body: dict[str, Any], **changes: Any) -> list[tuple[str, str, str]]:
    return [(finding.code, finding.severity.value, finding.place) for finding in found(body, **changes)]


def test_nothing_is_found_about_a_tool_that_says_what_it_must() -> None:
    assert told(REFUND) == []
    assert told(STOCK) == []


FOUND: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, str, str]]] = {
    "trust without an output schema": (
        REFUND,
        {"output_schema": ABSENT, "require_equal": []},
        ("never_completable", "block", "/output_schema"),
    ),
    "an untrusted read": (STOCK, {"trust_completion": False}, ("never_completable", "block", "/trust_completion")),
    "an untrusted idempotent tool": (
        STOCK,
        {"effect": "idempotent", "trust_completion": False},
        ("never_completable", "block", "/trust_completion"),
    ),
    "look-ahead": (
        STOCK,
        {"input_schema": an_object("sku", sku={"type": "string", "pattern": "^(?=A)"})},
        ("pattern_refused", "block", "/input_schema/properties/sku/pattern"),
    ),
    "a back-reference in the output": (
        STOCK,
        {"output_schema": an_object("count", count={"pattern": r"(a)\1"})},
        ("pattern_refused", "block", "/output_schema/properties/count/pattern"),
    ),
    "a name of properties that cannot be run": (
        STOCK,
        {"input_schema": {"type": "object", "patternProperties": {"^(?!x)": {}}}},
        ("pattern_refused", "block", "/input_schema/patternProperties/^(?!x)"),
    ),
    "a tag character in a description": (
        STOCK,
        {"input_schema": an_object("sku", sku={"type": "string", "description": "The article.\U000e0041"})},
        ("hidden_characters", "block", "/input_schema/properties/sku/description"),
    ),
    "a zero width space in the tool's name": (
        STOCK,
        {"name": "stock\u200b_level"},
        ("hidden_characters", "block", "/name"),
    ),
    "an override among allowed values": (
        STOCK,
        {"input_schema": an_object("sku", sku={"enum": ["a", "b\u202e"]})},
        ("hidden_characters", "block", "/input_schema/properties/sku/enum/1"),
    ),
    "a no-break space in a field's name": (
        STOCK,
        {"input_schema": an_object("sku", **{"sku": TEXT, "ship\u00a0to": TEXT})},
        ("hidden_characters", "block", "/input_schema/properties/ship\u00a0to"),
    ),
    "a joiner in a Latin word": (STOCK, {"name": "stock\u200d_level"}, ("hidden_characters", "block", "/name")),
    "a trusted write that pins nothing": (
        REFUND,
        {"require_equal": []},
        ("trusted_write_unpinned", "warn", "/require_equal"),
    ),
    "an output that may be anything": (
        STOCK,
        {"output_schema": True},
        ("output_accepts_anything", "warn", "/output_schema"),
    ),
    "an output of words alone": (
        STOCK,
        {"output_schema": {"title": "Stock", "description": "What is there."}},
        ("output_accepts_anything", "warn", "/output_schema"),
    ),
    "an output that is any object": (
        STOCK,
        {"output_schema": {"type": "object", "properties": {"count": {}}}},
        ("output_accepts_anything", "warn", "/output_schema"),
    ),
    "an identity without the amount": (
        REFUND,
        {"idempotency_key": ["order_id"]},
        ("identity_leaves_out", "warn", "/input_schema/properties/amount_cents"),
    ),
    "an identity without the payee": (
        REFUND,
        {
            "name": "wire_payout",
            "input_schema": an_object("amount_cents", "payee_iban", amount_cents=WHOLE, payee_iban=TEXT),
            "idempotency_key": ["amount_cents"],
        },
        ("identity_leaves_out", "warn", "/input_schema/properties/payee_iban"),
    ),
    "an identity without the recipient of a mail": (
        REFUND,
        {
            "name": "send_invoice",
            "input_schema": an_object("invoice_id", "to", invoice_id=TEXT, to=TEXT),
            "output_schema": an_object("sent_id", sent_id=TEXT),
            "require_equal": [],
            "idempotency_key": ["invoice_id"],
        },
        ("identity_leaves_out", "warn", "/input_schema/properties/to"),
    ),
    "format": (
        STOCK,
        {"input_schema": an_object("sku", sku={"type": "string", "format": "uuid"})},
        ("keyword_unenforced", "warn", "/input_schema/properties/sku/format"),
    ),
    "closed objects": (
        STOCK,
        {"output_schema": {**STOCK["output_schema"], "additionalProperties": False}},
        ("keyword_unenforced", "warn", "/output_schema/additionalProperties"),
    ),
    "a reference": (
        STOCK,
        {"input_schema": {"type": "object", "properties": {"sku": {"$ref": "#/$defs/sku"}}, "$defs": {"sku": TEXT}}},
        ("keyword_unenforced", "warn", "/input_schema/properties/sku/$ref"),
    ),
    "a field that must not be there": (
        STOCK,
        {"input_schema": {"type": "object", "properties": {"force": False}}},
        ("keyword_unenforced", "warn", "/input_schema/properties/force"),
    ),
    "a length spelt as a fraction": (
        STOCK,
        {"input_schema": an_object("sku", sku={"type": "string", "maxLength": 3.0})},
        ("keyword_unenforced", "warn", "/input_schema/properties/sku/maxLength"),
    ),
    "a name with its accent apart": (STOCK, {"name": "cafe\u0301_stock"}, ("name_taken_for_another", "warn", "/name")),
    "a name with one Cyrillic letter": (STOCK, {"name": "st\u043eck"}, ("name_taken_for_another", "warn", "/name")),
    "a name that ends in a space": (STOCK, {"name": "stock_level "}, ("name_taken_for_another", "warn", "/name")),
    "a read that pays": (STOCK, {"name": "pay_invoice"}, ("effect_belied_by_name", "warn", "/effect")),
    "a read that sends": (STOCK, {"name": "sendEmail"}, ("effect_belied_by_name", "warn", "/effect")),
    "an idempotent tool that deletes": (
        STOCK,
        {"name": "crm.user.delete", "effect": "idempotent"},
        ("effect_belied_by_name", "warn", "/effect"),
    ),
    "a read that refunds": (STOCK, {"name": "refund-order"}, ("effect_belied_by_name", "warn", "/effect")),
}


@pytest.mark.parametrize("case", FOUND, ids=str)
def test_what_a_reviewer_must_see_is_found_with_its_place(case: str) -> None:
    body, changes, finding = FOUND[case]
    assert finding in told(body, **changes)


PAYOUT_KEY = {"input_schema": an_object("order_id", "amount_cents", order_id=TEXT, amount_cents=WHOLE)}

NOT_FOUND: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    # never completable
    "an untrusted write, which people settle": ("never_completable", REFUND, {"trust_completion": False}),
    "an untrusted write without an output schema": (
        "never_completable",
        REFUND,
        {"trust_completion": False, "output_schema": ABSENT, "require_equal": []},
    ),
    "a trusted read with an empty output schema": ("never_completable", STOCK, {"output_schema": {}}),
    "a trusted idempotent tool": ("never_completable", STOCK, {"effect": "idempotent", "name": "shipment_label"}),
    # patterns
    "an IBAN": (
        "pattern_refused",
        STOCK,
        {"input_schema": an_object("sku", sku={"pattern": "^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$"})},
    ),
    "letters of any script": (
        "pattern_refused",
        STOCK,
        {"input_schema": an_object("sku", sku={"pattern": r"^\p{L}+$"})},
    ),
    "a pattern that is slow elsewhere": (
        "pattern_refused",
        STOCK,
        {"input_schema": an_object("sku", sku={"pattern": "^(a+)+$"})},
    ),
    "a field that is called pattern": (
        "pattern_refused",
        STOCK,
        {"input_schema": an_object("pattern", pattern={"type": "string", "description": "such as (?=x)"})},
    ),
    # hidden characters
    "a Persian name with its joiner": ("hidden_characters", STOCK, {"name": "وضعیت_پرداخت\u200cها"}),
    "Persian prose": (
        "hidden_characters",
        STOCK,
        {"input_schema": an_object("sku", sku={"type": "string", "description": "شناسهٔ کالا را می\u200cخواهد"})},
    ),
    "a Hindi field": (
        "hidden_characters",
        STOCK,
        {"input_schema": {"type": "object", "properties": {"क्\u200dष": TEXT}}},
    ),
    "an emoji made of three": ("hidden_characters", STOCK, {"name": "👩🏽\u200d💻_queue"}),
    "the flag of Wales and a heart": (
        "hidden_characters",
        STOCK,
        {
            "input_schema": an_object(
                "sku",
                sku={"title": "🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f ❤\ufe0f ℹ\ufe0f ‼\ufe0f"},
            )
        },
    ),
    "French spacing in a description": (
        "hidden_characters",
        STOCK,
        {"input_schema": an_object("sku", sku={"description": "Le code\u00a0: 12\u202f000 articles"})},
    ),
    "several lines from a Windows editor": (
        "hidden_characters",
        STOCK,
        {"input_schema": an_object("sku", sku={"description": "First.\r\nSecond.\n\tThird."})},
    ),
    # pins
    "a pin that is enough": ("trusted_write_unpinned", REFUND, {}),
    "one pin of two shared fields": (
        "trusted_write_unpinned",
        REFUND,
        {
            "input_schema": an_object("order_id", "amount_cents"),
            "output_schema": an_object("order_id", "amount_cents"),
            "require_equal": ["amount_cents"],
        },
    ),
    "a write whose output repeats nothing": (
        "trusted_write_unpinned",
        REFUND,
        {"require_equal": [], "output_schema": an_object("refund_id", refund_id=TEXT)},
    ),
    "an untrusted write without pins": (
        "trusted_write_unpinned",
        REFUND,
        {"trust_completion": False, "require_equal": []},
    ),
    "a read that repeats what was asked": (
        "trusted_write_unpinned",
        STOCK,
        {"output_schema": an_object("sku", "count", sku=TEXT, count=WHOLE)},
    ),
    # output schemas
    "one required field without a type": ("output_accepts_anything", STOCK, {"output_schema": {"required": ["count"]}}),
    "a list of numbers": ("output_accepts_anything", STOCK, {"output_schema": {"type": "array", "items": WHOLE}}),
    "optional fields with types": (
        "output_accepts_anything",
        STOCK,
        {"output_schema": {"type": "object", "properties": {"count": WHOLE}}},
    ),
    "a choice of two": (
        "output_accepts_anything",
        STOCK,
        {"output_schema": {"oneOf": [an_object("count"), an_object("missing")]}},
    ),
    "no output schema at all": ("output_accepts_anything", REFUND, {"output_schema": ABSENT, "require_equal": []}),
    # identity
    "an identity of order and amount": ("identity_leaves_out", REFUND, {}),
    "an identity of the position alone": ("identity_leaves_out", REFUND, {"idempotency_key": []}),
    "an optional amount": (
        "identity_leaves_out",
        REFUND,
        {
            "input_schema": an_object("order_id", order_id=TEXT, amount_cents=WHOLE),
            "idempotency_key": ["order_id"],
            "require_equal": [],
        },
    ),
    "a currency that is always the same, a flag and a note": (
        "identity_leaves_out",
        REFUND,
        {
            "input_schema": an_object(
                "order_id",
                "total",
                "notify_customer",
                "customer_note",
                "account_type",
                order_id=TEXT,
                total={"const": 1},
                notify_customer={"type": "boolean"},
                customer_note=TEXT,
                account_type=TEXT,
            ),
            "idempotency_key": ["order_id"],
            "require_equal": [],
        },
    ),
    "an idempotent tool, whose provider knows its own identity": (
        "identity_leaves_out",
        REFUND,
        {"effect": "idempotent", "idempotency_key": ["order_id"]},
    ),
    # keywords
    "everything a Salvor server checks": (
        "keyword_unenforced",
        STOCK,
        {
            "input_schema": {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "title": "Stock",
                "type": "object",
                "required": ["sku", "lines"],
                "properties": {
                    "sku": {"type": "string", "minLength": 1, "maxLength": 64, "default": "A", "examples": ["A"]},
                    "lines": {"type": "array", "minItems": 1, "maxItems": 5, "items": {"enum": [1, 2]}},
                    "count": {"type": ["integer", "null"], "exclusiveMinimum": 0, "maximum": 9},
                },
            }
        },
    ),
    "fields that are called like keywords": (
        "keyword_unenforced",
        STOCK,
        {"input_schema": an_object("format", format=TEXT, pattern=TEXT, const=TEXT, **{"$ref": TEXT})},
    ),
    "keywords that limit nothing": (
        "keyword_unenforced",
        STOCK,
        {
            "input_schema": {
                "type": "object",
                "additionalProperties": True,
                "minProperties": 0,
                "properties": {"tags": {"type": "array", "uniqueItems": False, "items": {}}},
                "$defs": {"unused": {"format": "uuid"}},
            }
        },
    ),
    # names that could be taken for others
    "an accented name": ("name_taken_for_another", STOCK, {"name": "caf\u00e9_stock"}),
    "a Russian name with an abbreviation": ("name_taken_for_another", STOCK, {"name": "статус_API"}),
    "a Greek name, and a unit": ("name_taken_for_another", STOCK, {"name": "απόθεμα 5 µm"}),
    "a Persian name": ("name_taken_for_another", STOCK, {"name": "وضعیت_پرداخت\u200cها"}),
    "words with single spaces": ("name_taken_for_another", STOCK, {"name": "stock level"}),
    # names
    "payment_status": ("effect_belied_by_name", STOCK, {"name": "payment_status"}),
    "refund_status": ("effect_belied_by_name", STOCK, {"name": "refund_status"}),
    "list_refunds": ("effect_belied_by_name", STOCK, {"name": "list_refunds"}),
    "getPayout": ("effect_belied_by_name", STOCK, {"name": "getPayout"}),
    "orders.get": ("effect_belied_by_name", STOCK, {"name": "orders.get"}),
    "sent_messages": ("effect_belied_by_name", STOCK, {"name": "sent_messages"}),
    "cancellation_policy": ("effect_belied_by_name", STOCK, {"name": "cancellation_policy"}),
    "transfer_limits": ("effect_belied_by_name", STOCK, {"name": "transfer_limits"}),
    "delivery_estimate": ("effect_belied_by_name", STOCK, {"name": "delivery_estimate"}),
    "delete_preview": ("effect_belied_by_name", STOCK, {"name": "delete_preview"}),
    "a write that pays": ("effect_belied_by_name", REFUND, {"name": "pay_invoice"}),
    "a Persian read": ("effect_belied_by_name", STOCK, {"name": "وضعیت_پرداخت\u200cها"}),
}


@pytest.mark.parametrize("case", NOT_FOUND, ids=str)
def test_what_is_in_order_is_not_found(case: str) -> None:
    code, body, changes = NOT_FOUND[case]
    assert code not in [finding.code for finding in found(body, **changes)]


def test_every_rule_has_at_least_three_cases_that_must_not_fire() -> None:
    spared = [code for code, _, _ in NOT_FOUND.values()]
    assert {
        code: spared.count(code) for code in {finding[0] for _, _, finding in FOUND.values()} if spared.count(code) < 3
    } == {}


def test_blocking_findings_come_first() -> None:
    severities = [
        finding.severity for finding in found(REFUND, output_schema=ABSENT, require_equal=[], name="pay\u200b")
    ]
    assert severities == sorted(severities, key=[Severity.BLOCK, Severity.WARN, Severity.NOTE].index)


def test_a_thousand_places_of_one_kind_are_told_as_forty_and_a_number() -> None:
    fields = {f"field_{number}": {"format": "uuid"} for number in range(1000)}
    findings = [
        finding for finding in found(STOCK, input_schema=an_object(**fields)) if finding.code == "keyword_unenforced"
    ]
    assert len(findings) == rules.MOST_PLACES
    assert "960 more places" in findings[-1].reason


def test_a_pattern_that_cannot_be_run_does_not_cover_up_another_fault() -> None:
    with pytest.raises(Refusal) as caught:
        found(STOCK, input_schema=an_object("sku", sku={"pattern": "(?=a)"}, other={"type": "text"}))
    assert caught.value.place == "/input_schema/properties/other/type"
