"""Values, labels and sink cases as the recorded files write them, read into the domain's types."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from salvor_admin.domain import call_cases, strict_json
from salvor_admin.domain.labels import Label, Labelled


def read(text: str) -> Any:
    return strict_json.read(text.encode())


def label_of(written: dict[str, Any]) -> Label:
    return call_cases.read_label(written, "")


def value_of(written: dict[str, Any]) -> Labelled:
    return call_cases.read_value(written, "")


def written_label(label: Label | None) -> dict[str, Any] | None:
    if label is None:
        return None
    return {"provenance": label.sources(), "sensitivity": label.sensitivity.value, "trust": label.trust.value}


__all__ = ["label_of", "read", "replace", "value_of", "written_label"]
