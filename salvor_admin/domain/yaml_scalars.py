"""What a scalar of YAML text means to agentplane (contract 5.7)."""

from __future__ import annotations

import re
from typing import NoReturn

from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json, fits

TAG = "tag:yaml.org,2002:"


def refuse(rule: str, message: str, *, line: int | None = None) -> NoReturn:
    """A refusal of the text itself, with its line as the place."""
    place = None if line is None else f"line {line}"
    code = f"manifest_{rule}"
    raise Refusal(code, message, place=place)


def refuse_tag(tag: str, line: int | None) -> NoReturn:
    """A refusal of a tag that agentplane does not read, or reads as it likes."""
    refuse("yaml", f"The tag {tag[:80]} is not read here (line {line}); leave it out.", line=line)


_DECIMAL = re.compile(r"[+-]?(?:0|[1-9][0-9]*(?:_[0-9]+)*)")
_BASED = re.compile(r"([+-]?)0([xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_FRACTION = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BEYOND = re.compile(r"[+-]?\.(?:inf|nan)", re.IGNORECASE)
# Groups of digits in these spellings were never tried on the real reader.
_UNTRIED = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+(?:_[0-9a-fA-F]+)+|0[oO][0-7]+(?:_[0-7]+)+|0[bB][01]+(?:_[01]+)+"
    r"|0[0-9]*(?:_[0-9]+)+|[0-9]+(?:_[0-9]+)+(?:\.[0-9_]*(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)"
    r"|[0-9]*\.[0-9]+(?:_[0-9]+)+(?:[eE][+-]?[0-9]+)?)"
)
_BASES = {"x": 16, "o": 8, "b": 2}
_USUAL_CASE = frozenset({"true", "True", "TRUE", "false", "False", "FALSE", "null", "Null", "NULL"})


def plain_scalar(text: str, line: int | None = None) -> Json:
    """What a plain scalar without a tag means."""
    if text == "" or text == "~":
        return None
    if text[0] not in "tTfFnN+-.0123456789":
        return text
    word = text.lower()
    if word in ("true", "false"):
        return word == "true"
    if word == "null":
        return None
    number = _number(text, line)
    return text if number is None else number


def reads_differently(text: str) -> bool:
    """Whether the newest compatible YAML reader takes this plain scalar for a text, other than the pinned one does."""
    if text.lower() in ("true", "false", "null"):
        return text not in _USUAL_CASE
    return bool(_BASED.fullmatch(text)) and any(sign in text for sign in "XOB")


def _number(text: str, line: int | None) -> int | float | None:
    if _DECIMAL.fullmatch(text):
        text = text.replace("_", "")
        if len(text) <= 21 and fits(number := int(text)):
            return number
    based = _BASED.fullmatch(text)
    if based is not None:
        if len(text) > 80:
            refuse("yaml", f"A number has {len(text)} characters (line {line}); write it in decimal.", line=line)
        number = int(based[2][1:], _BASES[based[2][0].lower()])
        number = -number if based[1] == "-" else number
        if not fits(number):
            refuse("yaml", f"The number {text} does not fit into 64 bits (line {line}).", line=line)
        return number
    if _BEYOND.fullmatch(text):
        refuse("yaml", f"{text} is no JSON number (line {line}); leave it out, or quote it.", line=line)
    if _UNTRIED.fullmatch(text):
        refuse(
            "yaml", f"{text[:40]} is read differently by different readers (line {line}); write it plainly.", line=line
        )
    if _FRACTION.fullmatch(text):
        number_read = float(text)
        if number_read - number_read != 0.0:
            refuse("yaml", f"The number {text[:40]} is outside the range of a double (line {line}).", line=line)
        return number_read
    return None


def tagged_scalar(tag: str, text: str, line: int | None) -> Json:
    """What a scalar means whose tag says what it is."""
    if tag in ("!", f"{TAG}str", f"{TAG}binary"):
        return text
    if tag == f"{TAG}null" and (text in ("", "~") or text.lower() == "null"):
        return None
    if tag == f"{TAG}bool" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if tag in (f"{TAG}int", f"{TAG}float"):
        number = _number(text, line)
        if number is not None and tag == f"{TAG}float":
            return float(number)
        if isinstance(number, int):
            return number
    if tag.removeprefix(TAG) in ("null", "bool", "int", "float"):
        refuse("yaml", f"{text[:40]!a} is no {tag.removeprefix(TAG)} (line {line}).", line=line)
    refuse_tag(tag, line)
