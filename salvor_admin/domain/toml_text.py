"""Reading and writing TOML files within the limits of the reference's reader (contract 2.2)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import tomlkit
from tomlkit.exceptions import TOMLKitError

from salvor_admin.domain.refusals import Refusal

MAX_NESTING = 79

_I64 = range(-(2**63), 2**63)
_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_DOUBLED_KEY = re.compile(r"inline table key '(.*)'")
_LAST_KEY = re.compile(r"""\s*\[*\s*(?:[\w.\s"'-]*\.\s*)?["']?([^"'=\]]*?)["']?\s*(?:=|\])""")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def read(raw: bytes) -> dict[str, Any]:
    """The table a file holds, its keys in file order. `nan`, `inf` and dates stay Python's own values."""
    try:
        text = raw.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise Refusal("not_utf8", f"Byte {error.start} is not UTF-8; save the file as UTF-8.") from None
    try:
        table = tomllib.loads(text, parse_float=_float)
    except tomllib.TOMLDecodeError as error:
        _refuse_syntax(str(error), text)
    except _OutOfRange as error:
        raise Refusal("not_toml", str(error)) from None
    except RecursionError:
        _refuse_depth()
    except ValueError:
        # Python reads no decimal integer of thousands of digits.
        _refuse_integer("of thousands of digits")
    for number in _integers(table):
        if number not in _I64:
            _refuse_integer(str(number) if number.bit_length() <= 128 else f"of {number.bit_length()} bits")
    if text.count("[") + text.count("{") > MAX_NESTING or text.count(".") >= MAX_NESTING:
        for statement in _statements(text):
            if statement.parts > MAX_NESTING or statement.nesting > MAX_NESTING:
                _refuse_depth(statement.line)
    return table


def line_of(raw: bytes, key: str) -> int | None:
    """The line on which a top-level key first stands, in a text that `read` took."""
    for statement in _statements(raw.decode().removeprefix("\ufeff")):
        if statement.key == key and (statement.is_header or not statement.below_header):
            return statement.line
    return None


class _OutOfRange(ValueError):
    pass


def _float(text: str) -> float:
    number = float(text)
    if number - number != 0.0 and text.lstrip("+-") not in {"inf", "nan"}:
        raise _OutOfRange(f"The number {text[:40]} is outside the range of a double; write it as a string.")
    return number


def _refuse_integer(which: str) -> NoReturn:
    raise Refusal("not_toml", f"The integer {which} is outside the 64-bit range; write it as a string.")


def _refuse_syntax(why: str, text: str) -> NoReturn:
    at = _AT.search(why)
    reason = (why[: at.start()] if at else why)[:200]
    if at and at[1]:
        line, column = int(at[1]), int(at[2])
    else:
        line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
    if reason.startswith(("Cannot overwrite", "Cannot declare", "Duplicate", "Cannot mutate", "Cannot redefine")):
        key = _DOUBLED_KEY.search(reason) or _LAST_KEY.match(text.split("\n")[line - 1])
        reason = f"`{key[1]}` is given twice" if key else "a key is given twice"
    raise Refusal(
        "not_toml",
        f"The file is not TOML at line {line}, column {column}: {reason}. Correct that place and try again.",
        place=f"line {line}, column {column}",
        details={"line": line, "column": column},
    )


def _refuse_depth(line: int | None = None) -> NoReturn:
    where = f"Line {line} nests" if line else "The file nests"
    raise Refusal(
        "too_deep",
        f"{where} more than {MAX_NESTING} arrays, tables or key parts in one value or key; write it flatter.",
        place=f"line {line}" if line else None,
    )


def _integers(table: Any) -> Iterator[int]:
    level = [table]
    while level:
        value = level.pop()
        if isinstance(value, dict):
            level.extend(value.values())
        elif isinstance(value, list):
            level.extend(value)
        elif isinstance(value, int):
            yield value


# --- where things stand ----------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"\#[^\n]*"
    r'|"""(?:[^"\\]|\\.|"(?!""))*+"{3,5}'
    r"|'''(?:[^']|'(?!''))*+'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*+"'
    r"|'[^'\n]*+'"
    r"|[\[\]{}.,=\n]"
    r"|[^\[\]{}.,=\n\#\"']++",
    re.DOTALL,
)


class _Statement:
    """One header or one assignment: where it stands and how deep it goes."""

    def __init__(self, line: int, is_header: bool, below_header: bool) -> None:
        self.line = line
        self.is_header = is_header
        self.below_header = below_header
        self.key = ""
        self.parts = 1
        self.nesting = 0


def _statements(text: str) -> Iterator[_Statement]:
    """The statements of a text that was read as TOML."""
    line = 1
    below_header = False
    current: _Statement | None = None
    depth = 0
    parts = 1
    in_key = True
    for found in _TOKEN.finditer(text):
        piece = found[0]
        line_here = line
        line += piece.count("\n")
        if piece[0] == "#" or (piece.isspace() and piece != "\n"):
            continue
        if current is None:
            if piece == "\n":
                continue
            is_header = piece == "["
            below_header = below_header or is_header
            current, depth, parts, in_key = _Statement(line_here, is_header, below_header), 0, 1, True
            if is_header:
                continue
        if piece == "\n" and (depth == 0 or current.is_header):
            yield current
            current = None
        elif current.is_header:
            if piece not in "[].":
                current.key = current.key or _name(piece)
            current.parts += piece == "."
        elif piece in "[{" and not in_key:
            depth += 1
            parts = 1
            current.nesting = max(current.nesting, depth)
        elif piece in "]}":
            depth -= 1
        elif piece == ".":
            parts += 1
            current.parts = max(current.parts, parts)
        elif piece in ",=\n":
            parts = 1
            in_key = False
        elif in_key:
            current.key = current.key or _name(piece)
    if current is not None:
        yield current


def _name(piece: str) -> str:
    piece = piece.strip()
    if piece[:1] in {'"', "'"}:
        return next(iter(tomllib.loads(f"{piece} = 0")))
    return piece


# --- writing ---------------------------------------------------------------------------------------------------------


def write(table: Mapping[str, Any], comments: Sequence[str] = ()) -> str:
    """The file that reads back as `table`, comments first; what TOML cannot say is refused."""
    _refuse_unsayable(table, "")
    document = tomlkit.document()
    for comment in comments:
        document.add(tomlkit.comment(_CONTROLS.sub(" ", comment).strip()))
    if comments:
        document.add(tomlkit.nl())
    try:
        for key, value in table.items():
            document.add(key, tomlkit.item(value))
        text = tomlkit.dumps(document)
        same = read(text.encode()) == table
    except (TOMLKitError, RecursionError, Refusal) as error:
        raise Refusal("not_toml", f"The value cannot be written as TOML: {error}. Export it as JSON instead.") from None
    if not same:
        raise Refusal("not_toml", "The value cannot be written as TOML without a change; export it as JSON instead.")
    return text


def _refuse_unsayable(value: Any, place: str) -> None:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            _refuse_unsayable(inner, f"{place}/{name.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            _refuse_unsayable(inner, f"{place}/{index}")
    elif value is None:
        raise Refusal("not_toml", f"At {place} stands null, which TOML cannot say; export it as JSON.", place=place)
    elif isinstance(value, int) and value not in _I64:
        raise Refusal(
            "not_toml", f"At {place} stands an integer beyond TOML's 64-bit range; export it as JSON.", place=place
        )
