"""Running a compiled schema: its nodes, and the budget of steps they spend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from salvor_admin.domain.schema_subset import Fault

MAX_NESTING: Final = 300  # schemas entered inside each other; Python's own stack is not much deeper


class OverBudget(Exception):
    """The check would take more steps than a request may cost."""


class Resource:
    """A schema with an address of its own: the root, and each one that has an `$id`."""

    __slots__ = ("anchors", "dynamic", "recursive_root", "root", "uri")

    def __init__(self, uri: str, root: Any) -> None:
        self.uri = uri
        self.root = root
        self.anchors: dict[str, Any] = {}
        self.dynamic: dict[str, Node] = {}
        self.recursive_root: Node | None = None


class Run:
    """What one evaluation has left, and the resources it went through."""

    __slots__ = ("left", "nesting", "scope")

    def __init__(self, budget: int, scope: list[Resource] | None) -> None:
        self.left = budget
        self.nesting = 0
        self.scope = scope

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise OverBudget


Seen: TypeAlias = "set[Any] | None"
Check: TypeAlias = Callable[[Any, Run, Seen], Fault | None]


class Node:
    """One compiled schema. Filled after it is made, so that schemas may refer to themselves."""

    __slots__ = ("checks", "resource", "unevaluated")

    def __init__(self, resource: Resource | None) -> None:
        self.resource = resource
        self.checks: tuple[Check, ...] = ()
        self.unevaluated: tuple[Check, ...] = ()

    def run(self, value: Any, run: Run, seen: Seen) -> Fault | None:
        """The first fault, or None; `seen` collects the members and items that some schema here has looked at."""
        run.left -= 1
        run.nesting += 1
        if run.left < 0 or run.nesting > MAX_NESTING:
            raise OverBudget
        enters = run.scope is not None and self.resource is not None and run.scope[-1] is not self.resource
        if enters:
            run.scope.append(self.resource)  # type: ignore[union-attr, arg-type]
        mine: Seen = set() if self.unevaluated else seen
        fault = None
        for check in self.checks + self.unevaluated if self.unevaluated else self.checks:
            fault = check(value, run, mine)
            if fault is not None:
                break
        else:
            if mine is not None and seen is not None and mine is not seen:
                seen |= mine
        if enters:
            run.scope.pop()  # type: ignore[union-attr]
        run.nesting -= 1
        return fault
