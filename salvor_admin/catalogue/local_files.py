"""Files that a command is pointed at."""

from __future__ import annotations

from pathlib import Path

from salvor_admin.domain.refusals import Refusal


def read_start(path: str | Path, most: int) -> bytes:
    """The bytes of a file up to one more than may stand in it, so that an endless one shows and ends."""
    try:
        with Path(path).open("rb") as opened:
            return opened.read(most + 1)
    except (OSError, ValueError) as error:
        named = str(path)
        shown = named if len(named) <= 200 else f"{named[:200]}…"
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise Refusal(
            "not_found", f"{shown} cannot be opened: {why}. Name a file that can be read.", place=shown
        ) from None
