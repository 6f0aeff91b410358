"""JSON Schema in full: compiled once, run under a budget.

Steps are counted, not seconds, so that the same value gets the same verdict on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote, urljoin

from salvor_admin.domain import schema_checks, schema_formats, schema_shapes
from salvor_admin.domain.schema_run import Check, Node, OverBudget, Resource, Run
from salvor_admin.domain.schema_shapes import Dialect, Problem, SchemaProblem
from salvor_admin.domain.schema_subset import Fault
from salvor_admin.domain.strict_json import Json, pointer

BUDGET: Final = 250_000
#: What all patterns of one schema may take together, in instructions of the engine; compiling them is a quarter of a second.
PATTERN_ROOM: Final = 250_000
_REFUSED_PATTERN: Final = 100_000  # what it costs to find out that one is too large

__all__ = ["BUDGET", "PATTERN_ROOM", "BadPatterns", "OverBudget", "build", "build_counted"]


def build(schema: Json) -> Callable[[Any], Fault | None]:
    """The check a schema stands for; raises SchemaProblem when it is no schema, OverBudget when it costs too much."""
    return build_counted(schema)[0]


def build_counted(schema: Json) -> tuple[Callable[[Any], Fault | None], int]:
    """The same, and how much of `PATTERN_ROOM` its patterns took."""
    compiler = _Compiler(schema)
    root = compiler.compile_all()

    def check(value: Any) -> Fault | None:
        scope = [compiler.root] if compiler.follows_scope else None
        return root.run(value, Run(BUDGET, scope), None)

    return check, PATTERN_ROOM - compiler.pattern_room


class BadPatterns(Exception):
    """It is a schema, but these of its patterns are none that we can run."""

    def __init__(self, problems: Sequence[Problem], spent: int) -> None:
        super().__init__(problems)
        self.spent = spent
        self.problems = tuple(sorted(problems, key=lambda problem: problem.place))


class _Compiler:
    """Turns one document of schemas into nodes, and finds whatever keeps it from being one."""

    def __init__(self, schema: Json) -> None:
        self.dialect = schema_shapes.dialect_of(schema)
        self.schema = schema
        self.root = Resource("", schema)
        self.resources = {"": self.root}
        self.known: dict[int, tuple[dict[str, Any], Resource, str]] = {}
        self.nodes: dict[int, Node] = {}
        self.always, self.never = Node(None), Node(None)
        self.never.checks = (schema_checks.never,)
        self.waiting: list[int] = []
        self.follows_scope = False
        self.bad_patterns: list[Problem] = []
        self.pattern_room = PATTERN_ROOM

    def compile_all(self) -> Node:
        """Every schema in the document, so that a bad one nobody uses is found too."""
        self._index(self.schema, self.root, "")
        root = self.node(self.schema)
        for identity in list(self.known):
            self.node(self.known[identity][0])
        while self.waiting:
            self._fill(self.waiting.pop())
        if self.bad_patterns:
            # Last, so that whatever else is wrong with the schema is told first.
            raise BadPatterns(self.bad_patterns, PATTERN_ROOM - self.pattern_room)
        return root

    # --- which schemas there are, and their addresses ---

    def _index(self, schema: Any, resource: Resource, place: str) -> None:
        todo = [(schema, resource, place)]
        while todo:
            schema, resource, place = todo.pop()
            schema_shapes.judge(schema, self.dialect, place)
            if not isinstance(schema, dict) or id(schema) in self.known:
                continue
            if self.dialect >= Dialect.DRAFT_2019_09 or "$ref" not in schema:
                resource = self._addressed(schema, resource, place)
            self.known[id(schema)] = (schema, resource, place)
            todo.extend((entry, resource, where) for where, entry in schema_shapes.inner(schema, self.dialect, place))

    def _addressed(self, schema: dict[str, Any], resource: Resource, place: str) -> Resource:
        keyword = "id" if self.dialect == Dialect.DRAFT_4 else "$id"
        own = schema.get(keyword, "")
        if own.startswith("#") and len(own) > 1:
            self._anchor(resource, own[1:], schema, pointer(place, keyword))
        elif own.removesuffix("#"):
            address = _join(resource.uri, own).partition("#")[0]
            if address in self.resources and self.resources[address].root is not schema:
                raise SchemaProblem(pointer(place, keyword), "another schema has this address already")
            if place == "":
                resource.uri = address
            else:
                resource = Resource(address, schema)
            self.resources[address] = resource
        if self.dialect >= Dialect.DRAFT_2019_09 and "$anchor" in schema:
            self._anchor(resource, schema["$anchor"], schema, pointer(place, "$anchor"))
        if self.dialect >= Dialect.DRAFT_2020_12 and "$dynamicAnchor" in schema:
            self._anchor(resource, schema["$dynamicAnchor"], schema, pointer(place, "$dynamicAnchor"))
            resource.dynamic[schema["$dynamicAnchor"]] = self.node(schema)
        if self.dialect == Dialect.DRAFT_2019_09 and resource.root is schema and schema.get("$recursiveAnchor"):
            resource.recursive_root = self.node(schema)
        return resource

    def _anchor(self, resource: Resource, name: str, schema: dict[str, Any], place: str) -> None:
        if resource.anchors.setdefault(name, schema) is not schema:
            raise SchemaProblem(place, "another schema has this anchor already")

    def target(self, reference: str, resource: Resource, place: str) -> tuple[Any, Resource, str | None]:
        """The schema a reference names, its resource, and the anchor when it was named by one."""
        address, _, fragment = _join(resource.uri, reference).partition("#")
        found = self.resources.get(address)
        shown = reference[:200]
        if found is None:
            raise SchemaProblem(place, f"{shown} leads out of the schema, and nothing is fetched; copy it in")
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            if fragment not in found.anchors:
                raise SchemaProblem(place, f"{shown} names an anchor that is not there")
            return found.anchors[fragment], found, fragment
        schema = found.root
        where = self.known[id(schema)][2] if id(schema) in self.known else ""
        for step in fragment.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            where = pointer(where, step)
            if isinstance(schema, dict) and step in schema:
                schema = schema[step]
            elif isinstance(schema, list) and step.isdecimal() and step.isascii() and int(step) < len(schema):
                schema = schema[int(step)]
            else:
                raise SchemaProblem(place, f"{shown} names a place that is not there")
            if id(schema) in self.known:
                found = self.known[id(schema)][1]
        if not isinstance(schema, (dict, bool)):
            raise SchemaProblem(place, f"{shown} names something that is no schema")
        self._index(schema, found, where)
        return schema, found, None

    # --- compiling ---

    def node(self, schema: Any) -> Node:
        if isinstance(schema, bool):
            return self.always if schema else self.never
        if id(schema) not in self.nodes:
            self.nodes[id(schema)] = Node(None)
            self.waiting.append(id(schema))
        return self.nodes[id(schema)]

    def pattern(self, source: str, place: str) -> schema_formats.Pattern:
        if self.pattern_room <= 0:
            why = (
                "the patterns before it in this schema already take all the room there is; write fewer or simpler ones"
            )
            self.bad_patterns.append(Problem(place, why, is_pattern=True))
            return schema_formats.pattern("")
        try:
            compiled = schema_formats.pattern(source)
            self.pattern_room -= compiled.programsize
            return compiled
        except schema_formats.BadPattern as error:
            self.pattern_room -= _REFUSED_PATTERN
            self.bad_patterns.append(
                Problem(
                    place,
                    f"the pattern is not one we can run ({error}); only patterns that take linear time are, "
                    "so without look-around and back-references",
                    is_pattern=True,
                )
            )
            return schema_formats.pattern("")

    def _fill(self, identity: int) -> None:
        schema, resource, place = self.known[identity]
        node = self.nodes[identity]
        node.resource = resource
        if self.dialect <= Dialect.DRAFT_7 and "$ref" in schema:
            node.checks = (self._reference(schema, resource, place),)
            return
        node.checks = tuple(self._checks(schema, resource, place))
        if self.dialect >= Dialect.DRAFT_2019_09:
            unevaluated = []
            if "unevaluatedProperties" in schema:
                unevaluated.append(schema_checks.no_other_members(self.node(schema["unevaluatedProperties"])))
            if "unevaluatedItems" in schema:
                unevaluated.append(schema_checks.no_other_items(self.node(schema["unevaluatedItems"])))
            node.unevaluated = tuple(unevaluated)

    def _reference(self, schema: dict[str, Any], resource: Resource, place: str) -> Check:
        target, _, _ = self.target(schema["$ref"], resource, pointer(place, "$ref"))
        return self.node(target).run

    def _checks(self, schema: dict[str, Any], resource: Resource, place: str) -> list[Check]:
        """The checks of one schema, in the order in which faults are told."""
        has, since = schema.get, self.dialect.__ge__
        checks: list[Check] = []
        if "type" in schema:
            checks.append(schema_checks.has_type(schema["type"], whole_floats=since(Dialect.DRAFT_6)))
        if "enum" in schema:
            checks.append(
                schema_checks.one_of_values("enum", schema["enum"], "the value is none of those the enum allows")
            )
        if "const" in schema and since(Dialect.DRAFT_6):
            checks.append(schema_checks.one_of_values("const", [schema["const"]], "the value is not the one allowed"))
        checks.extend(self._number_checks(schema))
        for keyword, of in _COUNTED.items():
            if keyword in schema:
                checks.append(schema_checks.counted(keyword, schema[keyword], of))
        if "pattern" in schema:
            pattern = self.pattern(schema["pattern"], pointer(place, "pattern"))
            checks.append(schema_checks.matches(pattern, schema["pattern"]))
        if "format" in schema and (of_format := schema_formats.check_of(schema["format"], self.dialect)):
            checks.append(schema_checks.has_format(schema["format"], of_format))
        checks.extend(self._object_checks(schema, place))
        checks.extend(self._array_checks(schema))
        for keyword, make in _SIDE_BY_SIDE.items():
            if keyword in schema:
                checks.append(make([self.node(entry) for entry in schema[keyword]]))
        if "not" in schema:
            checks.append(schema_checks.not_of(self.node(schema["not"])))
        if "if" in schema and since(Dialect.DRAFT_7):
            then, otherwise = (self.node(schema[branch]) if branch in schema else None for branch in ("then", "else"))
            checks.append(schema_checks.if_of(self.node(has("if")), then, otherwise))
        if "$ref" in schema:
            checks.append(self._reference(schema, resource, place))
        if "$dynamicRef" in schema and since(Dialect.DRAFT_2020_12):
            checks.append(self._dynamic_reference(schema["$dynamicRef"], resource, pointer(place, "$dynamicRef")))
        if "$recursiveRef" in schema and self.dialect == Dialect.DRAFT_2019_09:
            checks.append(self._recursive_reference(schema["$recursiveRef"], resource, pointer(place, "$recursiveRef")))
        return checks

    def _number_checks(self, schema: dict[str, Any]) -> list[Check]:
        checks = []
        for side in ("Minimum", "Maximum"):
            keyword, exclusive = side.lower(), f"exclusive{side}"
            if self.dialect == Dialect.DRAFT_4:
                if keyword in schema:
                    name = exclusive if schema.get(exclusive) else keyword
                    checks.append(schema_checks.within(name, schema[keyword]))
                continue
            checks.extend(schema_checks.within(name, schema[name]) for name in (keyword, exclusive) if name in schema)
        if "multipleOf" in schema:
            checks.append(schema_checks.multiple_of(schema["multipleOf"]))
        return checks

    def _object_checks(self, schema: dict[str, Any], place: str) -> list[Check]:
        checks: list[Check] = []
        if "required" in schema:
            checks.append(schema_checks.requires(schema["required"]))
        if any(keyword in schema for keyword in ("properties", "patternProperties", "additionalProperties")):
            patterns = [
                (self.pattern(source, pointer(pointer(place, "patternProperties"), source)), self.node(entry))
                for source, entry in schema.get("patternProperties", {}).items()
            ]
            named = {name: self.node(entry) for name, entry in schema.get("properties", {}).items()}
            others = self.node(schema["additionalProperties"]) if "additionalProperties" in schema else None
            checks.append(schema_checks.members(named, patterns, others, "additionalProperties"))
        if "propertyNames" in schema and self.dialect >= Dialect.DRAFT_6:
            checks.append(schema_checks.names_fit(self.node(schema["propertyNames"])))
        if self.dialect >= Dialect.DRAFT_2019_09:
            needed = schema.get("dependentRequired", {})
            nodes = {name: self.node(entry) for name, entry in schema.get("dependentSchemas", {}).items()}
        else:
            both = schema.get("dependencies", {})
            needed = {name: entry for name, entry in both.items() if isinstance(entry, list)}
            nodes = {name: self.node(entry) for name, entry in both.items() if not isinstance(entry, list)}
        if needed or nodes:
            checks.append(schema_checks.depends(needed, nodes))
        return checks

    def _array_checks(self, schema: dict[str, Any]) -> list[Check]:
        checks: list[Check] = []
        first: list[Node] = []
        rest, rest_named = None, "items"
        items = schema.get("items")
        if self.dialect >= Dialect.DRAFT_2020_12:
            first = [self.node(entry) for entry in schema.get("prefixItems", [])]
            rest = self.node(items) if "items" in schema else None
        elif isinstance(items, list):
            first = [self.node(entry) for entry in items]
            rest_named = "additionalItems"
            rest = self.node(schema["additionalItems"]) if "additionalItems" in schema else None
        elif "items" in schema:
            rest = self.node(items)
        if first or rest is not None:
            checks.append(schema_checks.entries(first, rest, rest_named))
        if "contains" in schema and self.dialect >= Dialect.DRAFT_6:
            counts = self.dialect >= Dialect.DRAFT_2019_09
            checks.append(
                schema_checks.contains(
                    self.node(schema["contains"]),
                    schema.get("minContains", 1) if counts else 1,
                    schema.get("maxContains") if counts else None,
                    marks=self.dialect >= Dialect.DRAFT_2020_12,
                )
            )
        if schema.get("uniqueItems"):
            checks.append(schema_checks.unique)
        return checks

    def _dynamic_reference(self, reference: str, resource: Resource, place: str) -> Check:
        target, found, anchor = self.target(reference, resource, place)
        static = self.node(target)
        if anchor is None or found.dynamic.get(anchor) is not static:
            return static.run
        self.follows_scope = True
        return schema_checks.outermost(anchor, static)

    def _recursive_reference(self, reference: str, resource: Resource, place: str) -> Check:
        target, found, _ = self.target(reference, resource, place)
        static = self.node(target)
        if found.recursive_root is not static:
            return static.run
        self.follows_scope = True
        return schema_checks.outermost(None, static)


_COUNTED: Final[Mapping[str, type[str] | type[list[Any]] | type[dict[str, Any]]]] = {
    "minLength": str,
    "maxLength": str,
    "minItems": list,
    "maxItems": list,
    "minProperties": dict,
    "maxProperties": dict,
}
_SIDE_BY_SIDE: Final = {
    "allOf": schema_checks.all_of,
    "anyOf": schema_checks.any_of,
    "oneOf": schema_checks.one_of,
}


def _join(base: str, reference: str) -> str:
    # urljoin knows only some schemes; a bare fragment is safe with every one.
    if reference.startswith("#"):
        return base + reference
    return urljoin(base, reference) if base else reference
