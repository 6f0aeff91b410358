"""What a rule raises when it says no."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Refusal(Exception):
    """A rule says no: a stable snake_case code, and a message that says what, why and what next.

    `place` is a JSON pointer or a field name into what was refused; `details` goes into the error envelope as it is.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        place: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.place = place
        self.details: dict[str, Any] = dict(details or {})

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"
