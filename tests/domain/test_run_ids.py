"""Run ids: contract 3.1 and the transcript open-06."""

from __future__ import annotations

import pytest

from salvor_admin.domain import run_ids


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("0C2F9C0E-6A52-4BE3-8A57-0F5A3E1D7BA1", "0c2f9c0e-6a52-4be3-8a57-0f5a3e1d7ba1"),
        ("0c2f9c0e6a524be38a570f5a3e1d7ba2", "0c2f9c0e-6a52-4be3-8a57-0f5a3e1d7ba2"),
        ("urn:uuid:0c2f9c0e-6a52-4be3-8a57-0f5a3e1d7ba3", "0c2f9c0e-6a52-4be3-8a57-0f5a3e1d7ba3"),
        ("{0c2f9c0e-6a52-4be3-8a57-0f5a3e1d7ba4}", "0c2f9c0e-6a52-4be3-8a57-0f5a3e1d7ba4"),
        ("00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000"),
        ("ffffffff-ffff-ffff-ffff-fffffffffa06", "ffffffff-ffff-ffff-ffff-fffffffffa06"),
    ],
)
def test_every_spelling_is_read_and_one_is_written(given: str, written: str) -> None:
    assert run_ids.read(given) == written


@pytest.mark.parametrize(
    "given",
    [
        " 0c2f9c0e-6a52-4be3-8a57-0f5a3e1d7ba7",
        "0c2f9c0e-6a52-4be3-8a57-0f5a3e1d7ba",
        "0c2f-9c0e6a52-4be3-8a57-0f5a3e1d7ba9",
        "URN:UUID:0c2f9c0e-6a52-4be3-8a57-0f5a3e1d7baa",
        "urn:uuid:0d5f4b7e3c1a4a2e9b556f0c2a7d9e14",
        "{0c2f9c0e-6a52-4be3-8a57-0f5a3e1d7bab",
        "{0c2f9c0e6a524be38a570f5a3e1d7bab}",
        "0c2f9c0e-6a52-4be3-8a57-0f5a3e1d7ba\n",
        "not-a-uuid",
        "",
    ],
)
def test_what_is_no_uuid_is_not_read(given: str) -> None:
    assert run_ids.read(given) is None
