"""What each keyword of JSON Schema checks, as functions made once a schema."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from typing import Any, Final

from salvor_admin.domain import canonical, schema_formats
from salvor_admin.domain.schema_formats import Pattern
from salvor_admin.domain.schema_run import Check, Node, Run, Seen
from salvor_admin.domain.schema_shapes import by_value
from salvor_admin.domain.schema_subset import Fault, is_number, kind


def never(value: Any, run: Run, seen: Seen) -> Fault | None:
    return Fault("false", "no value is allowed here")


# --- any value -------------------------------------------------------------------------------------------------------


def _is_whole(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


_HAS_TYPE: Final[Mapping[str, Callable[[Any], bool]]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_whole,
    "number": is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def has_type(names: Any, *, whole_floats: bool) -> Check:
    expected = names if isinstance(names, list) else [names]
    tests = [
        _HAS_TYPE[name]
        if whole_floats or name != "integer"
        else (lambda value: isinstance(value, int) and not isinstance(value, bool))
        for name in expected
    ]

    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        for test in tests:
            if test(value):
                return None
        return Fault("type", f"expected {' or '.join(expected)}, got {kind(value)}")

    return check


def one_of_values(keyword: str, allowed: list[Any], reason: str) -> Check:
    texts = frozenset(map(by_value, allowed))

    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        text = by_value(value)
        run.spend(3 + len(text) // 8)
        return None if text in texts else Fault(keyword, reason)

    return check


# --- numbers and texts -----------------------------------------------------------------------------------------------

_OUTSIDE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "minimum": lambda value, bound: value < bound,
    "exclusiveMinimum": lambda value, bound: value <= bound,
    "maximum": lambda value, bound: value > bound,
    "exclusiveMaximum": lambda value, bound: value >= bound,
}


def within(keyword: str, bound: Any) -> Check:
    outside = _OUTSIDE[keyword]

    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        if is_number(value) and outside(value, bound):
            return Fault(keyword, f"{keyword} is {canonical.text(bound)}, got {canonical.text(value)}")
        return None

    return check


def multiple_of(divisor: Any) -> Check:
    # By what was written: 19.99 is a multiple of 0.01, although no double is.
    exact = Fraction(repr(divisor))

    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        if is_number(value) and (Fraction(repr(value)) / exact).denominator != 1:
            return Fault("multipleOf", f"multipleOf is {canonical.text(divisor)}, got {canonical.text(value)}")
        return None

    return check


def counted(keyword: str, bound: Any, of: type[str] | type[list[Any]] | type[dict[str, Any]]) -> Check:
    at_least = keyword.startswith("min")

    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        if isinstance(value, of):
            count = len(value)
            if count < bound if at_least else count > bound:
                return Fault(keyword, f"{keyword} is {canonical.text(bound)}, got {count}")
        return None

    return check


def _steps_of(pattern: Pattern, text: str) -> int:
    return 4 + len(text) * (1 + pattern.programsize // 64) // 8


def matches(pattern: Pattern, source: str) -> Check:
    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        if isinstance(value, str):
            run.spend(_steps_of(pattern, value))
            if not pattern.search(value):
                return Fault("pattern", f"the text does not match the pattern {source[:200]}")
        return None

    return check


def has_format(name: str, is_of_format: Callable[[str], bool]) -> Check:
    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        if isinstance(value, str):
            run.spend(schema_formats.steps_of(name, value))
            if not is_of_format(value):
                return Fault("format", f"the text is no {name[:80]}")
        return None

    return check


# --- objects ---------------------------------------------------------------------------------------------------------


def requires(names: list[str]) -> Check:
    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        if isinstance(value, dict):
            run.spend(len(names) // 8)
            for name in names:
                if name not in value:
                    return Fault("required", f"the property `{name}` is required and missing")
        return None

    return check


def members(
    named: Mapping[str, Node], patterns: list[tuple[Pattern, Node]], others: Node | None, others_named: str
) -> Check:
    """`properties`, `patternProperties` and `additionalProperties`, which know of each other."""
    in_order = {name: named[name] for name in sorted(named)}

    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        if not isinstance(value, dict):
            return None
        for name in in_order if len(in_order) <= len(value) else sorted(in_order.keys() & value.keys()):
            if name in value:
                fault = in_order[name].run(value[name], run, None)
                if fault is not None:
                    return fault.below(name)
                if seen is not None:
                    seen.add(name)
        if not patterns and others is None:
            return None
        run.spend(len(value))
        for name in sorted(value):
            is_known = name in in_order
            for pattern, node in patterns:
                run.spend(_steps_of(pattern, name))
                if pattern.search(name):
                    is_known = True
                    fault = node.run(value[name], run, None)
                    if fault is not None:
                        return fault.below(name)
                    if seen is not None:
                        seen.add(name)
            if not is_known and others is not None:
                fault = others.run(value[name], run, None)
                if fault is not None:
                    if fault.keyword == "false" and not fault.steps:
                        fault = Fault(others_named, "the schema allows no such property")
                    return fault.below(name)
                if seen is not None:
                    seen.add(name)
        return None

    return check


def names_fit(node: Node) -> Check:
    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        if isinstance(value, dict):
            for name in sorted(value):
                fault = node.run(name, run, None)
                if fault is not None:
                    return Fault("propertyNames", f"the property name `{name[:200]}` is not allowed: {fault.reason}")
        return None

    return check


def depends(needed: Mapping[str, list[str]], nodes: Mapping[str, Node]) -> Check:
    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        if not isinstance(value, dict):
            return None
        run.spend((len(needed) + len(nodes)) // 8)
        for name, names in needed.items():
            if name in value:
                run.spend(len(names) // 8)
                for other in names:
                    if other not in value:
                        return Fault("dependentRequired", f"beside `{name}` the property `{other}` is required")
        for name, node in nodes.items():
            if name in value:
                fault = node.run(value, run, seen)
                if fault is not None:
                    return fault
        return None

    return check


# --- arrays ----------------------------------------------------------------------------------------------------------


def entries(first: list[Node], rest: Node | None, rest_named: str) -> Check:
    """The entries with a schema of their own by place, and the one for all that follow."""

    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        if not isinstance(value, list):
            return None
        for index, item in enumerate(value):
            node = first[index] if index < len(first) else rest
            if node is None:
                break
            fault = node.run(item, run, None)
            if fault is not None:
                if fault.keyword == "false" and not fault.steps and index >= len(first):
                    fault = Fault(rest_named, "the schema allows no item here")
                return fault.below(index)
            if seen is not None:
                seen.add(index)
        return None

    return check


def contains(node: Node, at_least: Any, at_most: Any, *, marks: bool) -> Check:
    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        if not isinstance(value, list):
            return None
        found = 0
        for index, item in enumerate(value):
            if fits(node, item, run, None):
                found += 1
                if marks and seen is not None:
                    seen.add(index)
        if found < at_least:
            return Fault("contains", f"at least {canonical.text(at_least)} items must fit, {found} do")
        if at_most is not None and found > at_most:
            return Fault("maxContains", f"at most {canonical.text(at_most)} items may fit, {found} do")
        return None

    return check


def unique(value: Any, run: Run, seen: Seen) -> Fault | None:
    if not isinstance(value, list):
        return None
    texts: dict[str, int] = {}
    for index, item in enumerate(value):
        text = canonical.text(item)
        run.spend(3 + len(text) // 8)
        if text in texts:
            return Fault("uniqueItems", f"items {texts[text]} and {index} are the same")
        texts[text] = index
    return None


# --- schemas side by side --------------------------------------------------------------------------------------------


def fits(node: Node, value: Any, run: Run, seen: Seen) -> bool:
    return node.run(value, run, seen) is None


def all_of(nodes: Collection[Node]) -> Check:
    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        for node in nodes:
            fault = node.run(value, run, seen)
            if fault is not None:
                return fault
        return None

    return check


def any_of(nodes: Collection[Node]) -> Check:
    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        found = False
        for node in nodes:
            mine: Seen = None if seen is None else set()
            if node.run(value, run, mine) is None:
                if seen is None or mine is None:
                    return None
                found = True
                seen |= mine
        return None if found else Fault("anyOf", f"the value fits none of the {len(nodes)} schemas")

    return check


def one_of(nodes: Collection[Node]) -> Check:
    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        found = 0
        kept: Seen = None
        for node in nodes:
            mine: Seen = None if seen is None else set()
            if node.run(value, run, mine) is None:
                found += 1
                kept = mine
        if found != 1:
            return Fault("oneOf", f"the value must fit one of the {len(nodes)} schemas, and fits {found}")
        if seen is not None and kept is not None:
            seen |= kept
        return None

    return check


def not_of(node: Node) -> Check:
    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        # Looked at with a set of its own: inside, unevaluated keywords count what they see themselves.
        return Fault("not", "the value fits a schema it must not fit") if fits(node, value, run, None) else None

    return check


def if_of(condition: Node, then: Node | None, otherwise: Node | None) -> Check:
    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        mine: Seen = None if seen is None else set()
        holds = condition.run(value, run, mine) is None
        if holds and seen is not None and mine is not None:
            seen |= mine
        branch = then if holds else otherwise
        return branch.run(value, run, seen) if branch is not None else None

    return check


def outermost(anchor: str | None, static: Node) -> Check:
    """`$dynamicRef` by anchor, or `$recursiveRef`: the outermost resource on the way here that answers to it."""

    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        for resource in run.scope or ():
            if anchor is None and resource.recursive_root is not None:
                return resource.recursive_root.run(value, run, seen)
            if anchor is not None and anchor in resource.dynamic:
                return resource.dynamic[anchor].run(value, run, seen)
        return static.run(value, run, seen)

    return check


def no_other_members(node: Node) -> Check:
    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        if isinstance(value, dict) and seen is not None:
            for name in sorted(value.keys() - seen):
                fault = node.run(value[name], run, None)
                if fault is not None:
                    if fault.keyword == "false" and not fault.steps:
                        fault = Fault("unevaluatedProperties", "the schema allows no such property")
                    return fault.below(name)
                seen.add(name)
        return None

    return check


def no_other_items(node: Node) -> Check:
    def check(value: Any, run: Run, seen: Seen) -> Fault | None:
        if isinstance(value, list) and seen is not None:
            for index, item in enumerate(value):
                if index not in seen:
                    fault = node.run(item, run, None)
                    if fault is not None:
                        if fault.keyword == "false" and not fault.steps:
                            fault = Fault("unevaluatedItems", "the schema allows no item here")
                        return fault.below(index)
                    seen.add(index)
        return None

    return check
