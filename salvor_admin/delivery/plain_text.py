"""Words that are not ours, in a mail: on one line or quoted, nothing hidden, nothing to press, never without end."""

from __future__ import annotations

import re
from typing import Final

from salvor_admin.domain import hidden_text

LONGEST_NAME: Final = 60
LONGEST_QUOTE: Final = 400
MOST_QUOTED_LINES: Final = 8
_LAYOUT: Final = re.compile(r"[\n\t]")
# Mail programs turn these into something to press; ours are the only links of a mail.
_LINKS: Final = re.compile(r"(?i)(?<=:)//|(?<=\bwww)\.|(?<=\bmailto):|(?<=\btel):")


def on_one_line(text: str, *, most: int = LONGEST_NAME) -> str:
    """The text within a line of ours: cut, with line feeds and hidden characters drawn."""
    return _LAYOUT.sub(lambda found: _drawn(found[0]), _marked(_cut(text, most)))


def quoted(text: str) -> str:
    """The text as lines that each say they are somebody else's."""
    lines = _marked(_cut(text.strip(), LONGEST_QUOTE)).splitlines()
    kept = [*lines[:MOST_QUOTED_LINES], *(["…"] if len(lines) > MOST_QUOTED_LINES else [])]
    return "\n".join(f"> {line}" for line in kept)


def _marked(text: str) -> str:
    hidden = set(hidden_text.hidden_positions(text))
    drawn = "".join(_drawn(char) if at in hidden else char for at, char in enumerate(text))
    return _LINKS.sub(lambda found: f"⟦{found[0]}⟧", drawn)


def _drawn(char: str) -> str:
    return f"⟦{hidden_text.code_point(char)}⟧"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
