"""The reference's own small schema checker: what it refuses we refuse, with its path (contract 10.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from salvor_admin.domain import canonical
from salvor_admin.domain.strict_json import Json


class Fault:
    """One value that does not fit: the keyword, why, and the way to it, innermost step first."""

    __slots__ = ("keyword", "reason", "steps")

    def __init__(self, keyword: str, reason: str) -> None:
        self.keyword = keyword
        self.reason = reason
        self.steps: list[str | int] = []

    def below(self, step: str | int) -> Fault:
        self.steps.append(step)
        return self

    @property
    def path(self) -> str:
        """`$`, then `.name` or `[index]` for each step; names are not escaped."""
        return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in reversed(self.steps))


Check: TypeAlias = Callable[[Any], Fault | None]


def kind(value: Json) -> str:
    """The JSON type of a value; integers are numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def build(schema: Json) -> Check | None:
    """The check a schema stands for; None when it accepts everything."""
    if not isinstance(schema, dict):
        return None
    checks = [
        check
        for check in (
            _type(schema.get("type")),
            _enum(schema.get("enum")),
            *(_bound(keyword, schema.get(keyword)) for keyword in _OUTSIDE),
            *(_length(keyword, schema.get(keyword), of) for keyword, of in _COUNTED),
            _required(schema.get("required")),
            _properties(schema.get("properties")),
            _items(schema.get("items")),
        )
        if check is not None
    ]
    if len(checks) <= 1:
        return checks[0] if checks else None

    def all_of(value: Any) -> Fault | None:
        for check in checks:
            fault = check(value)
            if fault is not None:
                return fault
        return None

    return all_of


_IS_OF: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def _type(names: Any) -> Check | None:
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, list):
        return None
    names = [name for name in names if isinstance(name, str)]
    if not names or any(name not in _IS_OF for name in names):
        return None
    expected = " or ".join(names)
    tests = [_IS_OF[name] for name in names]

    def check(value: Any) -> Fault | None:
        for test in tests:
            if test(value):
                return None
        return Fault("type", f"expected {expected}, got {kind(value)}")

    return check


def _enum(allowed: Any) -> Check | None:
    if not isinstance(allowed, list):
        return None
    texts = frozenset(map(canonical.equality_text, allowed))

    def check(value: Any) -> Fault | None:
        if canonical.equality_text(value) in texts:
            return None
        return Fault("enum", "the value is none of those the enum allows")

    return check


_OUTSIDE: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, bound: value < bound,
    "exclusiveMinimum": lambda value, bound: value <= bound,
    "maximum": lambda value, bound: value > bound,
    "exclusiveMaximum": lambda value, bound: value >= bound,
}


def _bound(keyword: str, bound: Any) -> Check | None:
    if not is_number(bound):
        return None
    outside = _OUTSIDE[keyword]
    as_double = float(bound)
    is_integer = isinstance(bound, int)

    def check(value: Any) -> Fault | None:
        if not is_number(value):
            return None
        # Python compares an int with a float exactly; the reference turns both into doubles first.
        exactly = is_integer and isinstance(value, int)
        if outside(value, bound) if exactly else outside(float(value), as_double):
            return Fault(keyword, f"{keyword} is {canonical.text(bound)}, got {canonical.text(value)}")
        return None

    return check


_COUNTED: tuple[tuple[str, type[str] | type[list[Any]]], ...] = (
    ("minLength", str),
    ("maxLength", str),
    ("minItems", list),
    ("maxItems", list),
)


def _length(keyword: str, bound: Any, of: type[str] | type[list[Any]]) -> Check | None:
    if not isinstance(bound, int) or isinstance(bound, bool) or bound < 0:
        return None
    at_least = keyword.startswith("min")

    def check(value: Any) -> Fault | None:
        if not isinstance(value, of):
            return None
        length = len(value)
        if length < bound if at_least else length > bound:
            return Fault(keyword, f"{keyword} is {bound}, got {length}")
        return None

    return check


def _required(names: Any) -> Check | None:
    if not isinstance(names, list):
        return None
    names = [name for name in names if isinstance(name, str)]

    def check(value: Any) -> Fault | None:
        if isinstance(value, dict):
            for name in names:
                if name not in value:
                    return Fault("required", f"the property `{name}` is required and missing")
        return None

    return check if names else None


def _properties(schemas: Any) -> Check | None:
    if not isinstance(schemas, dict):
        return None
    built = {name: check for name in sorted(schemas) if (check := build(schemas[name])) is not None}

    def check_all(value: Any) -> Fault | None:
        if not isinstance(value, dict):
            return None
        names = built if len(built) <= len(value) else sorted(built.keys() & value.keys())
        for name in names:
            if name in value:
                fault = built[name](value[name])
                if fault is not None:
                    return fault.below(name)
        return None

    return check_all if built else None


def _items(schema: Any) -> Check | None:
    check = build(schema)
    if check is None:
        return None

    def check_each(value: Any) -> Fault | None:
        if isinstance(value, list):
            for index, item in enumerate(value):
                fault = check(item)
                if fault is not None:
                    return fault.below(index)
        return None

    return check_each
