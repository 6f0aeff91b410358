"""Which characters a reader cannot see, or which make a text read otherwise than it is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Letters and marks by category that draw nothing all the same.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\ufffc")
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_PLAIN_LAYOUT = frozenset(" \n\t")

# The only sequences of tag characters that Unicode registers: the flags of England, Scotland and Wales.
_FLAGS = re.compile(
    "\U0001f3f4(?:"
    + "|".join("".join(chr(0xE0000 + ord(c)) for c in region) for region in ("gbeng", "gbsct", "gbwls"))
    + ")\U000e007f"
)
_ZERO_WIDTH_JOINER = "\u200d"
_ZERO_WIDTH_NON_JOINER = "\u200c"
_VIRAMA = 9  # the combining class of the sign that joiners stand beside in the scripts of India
_JOINED_SCRIPTS = ("ARABIC LETTER", "SYRIAC LETTER", "NKO LETTER", "MANDAIC LETTER")
# Signs and letters that have an emoji of their own, drawn with a selector.
_ALSO_EMOJI = frozenset("\u203c\u2049\u2139\u2194\u3030")
_EMOJI_SELECTOR = "\ufe0f"
_KEYCAP = "\u20e3"

_CONTROL_NAMES = {
    0x00: "null", 0x07: "bell", 0x08: "backspace", 0x0B: "line tabulation", 0x0C: "form feed", 0x0D: "carriage return",
    0x1B: "escape", 0x7F: "delete", 0x85: "next line",
}  # fmt: skip


def _is_variation_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _is_pictograph(char: str) -> bool:
    return unicodedata.category(char) in {"So", "Sk"} and char not in _BLANK


def _draws_an_emoji(text: str, at: int) -> bool:
    """Whether the selector or joiner at `at` only shapes a visible emoji."""
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if text[at] == _EMOJI_SELECTOR:
        is_base = before != "" and (_is_pictograph(before) or before in _ALSO_EMOJI)
        return is_base or (before != "" and before in "#*0123456789" and after == _KEYCAP)
    joined = before == _EMOJI_SELECTOR or (before != "" and _is_pictograph(before))
    return text[at] == _ZERO_WIDTH_JOINER and joined and after != "" and _is_pictograph(after)


def _letter_beside(text: str, at: int, step: int) -> str:
    """The next character on one side that is no mark on a letter; empty at the end."""
    at += step
    while 0 <= at < len(text) and unicodedata.category(text[at]) == "Mn":
        at += step
    return text[at] if 0 <= at < len(text) else ""


def _is_joining(char: str) -> bool:
    return char != "" and unicodedata.name(char, "").startswith(_JOINED_SCRIPTS)


def _spells_a_word(text: str, at: int) -> bool:
    """Whether the joiner at `at` belongs to how a script is spelt: Persian plurals, conjuncts of India."""
    if text[at] not in {_ZERO_WIDTH_JOINER, _ZERO_WIDTH_NON_JOINER} or at == 0:
        return False
    after = text[at + 1] if at + 1 < len(text) else ""
    if unicodedata.combining(text[at - 1]) == _VIRAMA and after.isalpha():
        return True
    if text[at] == _ZERO_WIDTH_JOINER and after != "" and unicodedata.combining(after) == _VIRAMA:
        return text[at - 1].isalpha()
    before, following = _letter_beside(text, at, -1), _letter_beside(text, at, 1)
    if text[at] == _ZERO_WIDTH_NON_JOINER:
        return _is_joining(before) and _is_joining(following)
    # Between two joining letters it would change nothing that can be seen; at a word's end it shapes the last one.
    return _is_joining(before) and not _is_joining(following) and (after == "" or after in " .,:;/)-")


def hidden_positions(text: str) -> Iterator[int]:
    """The places of characters that must be drawn as code points; space, line feed and tab are plain layout."""
    if text.isascii() and text.isprintable():
        return
    flags = {at for match in _FLAGS.finditer(text) for at in range(*match.span())}
    for at, char in enumerate(text):
        if char in _PLAIN_LAYOUT or (" " < char <= "~"):
            continue
        unseen = unicodedata.category(char) in _INVISIBLE_CATEGORIES or char in _BLANK or _is_variation_selector(char)
        if unseen and at not in flags and not _draws_an_emoji(text, at) and not _spells_a_word(text, at):
            yield at


def count_hidden(text: str) -> int:
    """How many characters of the text a reader would not see as they are."""
    return sum(1 for _ in hidden_positions(text))


def code_point(char: str) -> str:
    """`U+200B`, at least four digits."""
    return f"U+{ord(char):04X}"


def character_name(char: str) -> str:
    """What Unicode calls the character, in lower case."""
    number = ord(char)
    if number in _CONTROL_NAMES:
        return _CONTROL_NAMES[number]
    category = unicodedata.category(char)
    fallback = {"Cc": "control character", "Cs": "half of a surrogate pair", "Co": "private use character"}
    return unicodedata.name(char, fallback.get(category, "unassigned character")).lower()
