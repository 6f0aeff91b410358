"""Which texts a `format` takes, and the one engine that runs every pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol
from urllib.parse import quote

import re2

from salvor_admin.domain.schema_shapes import Dialect


@cache
def _formats(dialect: Dialect) -> Mapping[str, Any]:
    """A dialect's format checks by name. Imported at the first `format` met: reading their grammars takes two seconds."""
    import jsonschema

    validators = {
        Dialect.DRAFT_4: jsonschema.Draft4Validator,
        Dialect.DRAFT_6: jsonschema.Draft6Validator,
        Dialect.DRAFT_7: jsonschema.Draft7Validator,
        Dialect.DRAFT_2019_09: jsonschema.Draft201909Validator,
        Dialect.DRAFT_2020_12: jsonschema.Draft202012Validator,
    }
    checkers: Mapping[str, Any] = validators[dialect].FORMAT_CHECKER.checkers
    return checkers


def load() -> None:
    """Reads the formats ahead of the first request that needs one."""
    for dialect in Dialect:
        _formats(dialect)


_OPTIONS = re2.Options()
_OPTIONS.log_errors = False

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)


class Pattern(Protocol):
    programsize: int

    def search(self, text: str) -> object: ...


class BadPattern(ValueError):
    """The engine does not take the pattern."""


def pattern(source: str) -> Pattern:
    r"""The compiled pattern: RE2, in which no text takes more than linear time; `\u00e9` is understood."""
    spelt = _ESCAPE.sub(lambda found: rf"\x{{{found[1]}}}" if found[1] else found[0], source)
    try:
        compiled: Pattern = re2.compile(spelt, _OPTIONS)
    except re2.error as error:
        why = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        raise BadPattern(why[:200]) from None
    return compiled


def steps_of(name: str, text: str) -> int:
    """What checking a text costs; the library's parser of templates goes back over what it read."""
    return 1 + len(text) * (4 + (len(text) // 256 if name == "uri-template" else 0))


def check_of(name: str, dialect: Dialect) -> Callable[[str], bool] | None:
    """Whether a text has the format; None for a format nobody defined."""
    if name in {"iri", "iri-reference"}:
        plain = check_of(name.replace("iri", "uri"), Dialect.DRAFT_2020_12)
        # The library's own parser takes a millisecond a character.
        return (lambda text: plain(_as_uri(text))) if plain and dialect >= Dialect.DRAFT_7 else None
    if name == "regex":
        return _is_pattern
    found = _formats(dialect).get(name)
    if found is None:
        return None
    check, raises = found
    expected: tuple[type[Exception], ...] = raises if isinstance(raises, tuple) else (raises,) if raises else ()

    def has_format(text: str) -> bool:
        try:
            return bool(check(text))
        except (ValueError, RecursionError):
            return False
        except expected:
            return False

    return has_format


def _as_uri(text: str) -> str:
    return "".join(character if character.isascii() else quote(character, safe="") for character in text)


def _is_pattern(text: Any) -> bool:
    try:
        pattern(text)
    except BadPattern:
        return False
    return True
