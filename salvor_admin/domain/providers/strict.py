"""Which schemas may be offered strict: two subsets and one budget (agentplane contract 4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from salvor_admin.domain import strict_json
from salvor_admin.domain.providers import references
from salvor_admin.domain.strict_json import Json


class Subset(StrEnum):
    """Whose idea of a strict schema is asked for; Bedrock shares Anthropic's."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


@dataclass(frozen=True, slots=True, order=True)
class StrictProblem:
    """One reason against strictness, at the place where it stands (contract 4.1)."""

    path: str
    code: str
    pointer: str = field(default="", compare=False)

    @property
    def sentence(self) -> str:
        """The reason in words, for people."""
        noun, _, detail = self.code.partition(":")
        return f"{self.path}: {_SENTENCES[noun].format(detail)}"


@dataclass(frozen=True, slots=True)
class StrictVerdict:
    """Whether one schema goes out strict, and everything that stands against it."""

    strict: bool
    problems: tuple[StrictProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class StrictCost:
    """What one strict schema takes from a request's budget."""

    options: int = 0
    unions: int = 0


@dataclass(frozen=True, slots=True)
class StrictBudget:
    """What one request may hold; a provider refuses the whole request beyond it (contract 4.3)."""

    tools: int
    options: int
    unions: int


REQUEST_BUDGET = StrictBudget(tools=20, options=24, unions=16)

_SHARED_KEYWORDS = frozenset(
    [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "anyOf",
        "enum",
        "const",
        "$ref",
        "$defs",
        "definitions",
        "description",
        "title",
        "default",
        "format",
        "pattern",
    ]
)
KEYWORDS = {
    Subset.OPENAI: _SHARED_KEYWORDS
    | frozenset(
        [
            "examples",
            "deprecated",
            "readOnly",
            "writeOnly",
            "$comment",
            "$id",
            "$schema",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "nullable",
        ]
    ),
    Subset.ANTHROPIC: _SHARED_KEYWORDS | frozenset({"allOf", "minItems"}),
}
TYPE_WORDS = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})
_SHARED_FORMATS = frozenset(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"])
FORMATS = {Subset.OPENAI: _SHARED_FORMATS, Subset.ANTHROPIC: _SHARED_FORMATS | {"uri"}}

DEEPEST_OBJECT = 10
MOST_PROPERTIES = 5000
MOST_ENUM_VALUES = 1000
MOST_TEXT_BYTES = 120_000
LONG_ENUM_VALUES = 250
LONG_ENUM_BYTES = 15_000

_PATTERN_PARTS = (
    ("lookahead", re.compile(r"\(\?[=!]")),
    ("lookbehind", re.compile(r"\(\?<[=!]")),
    ("backreference", re.compile(r"\\k<|\\[1-9]")),
    ("word-boundary", re.compile(r"\\[bB]")),
)

_SENTENCES = {
    "root-not-object": "the root has to say type: object",
    "not-an-object": "a schema has to be a JSON object here, not true, false or another value",
    "keyword": "the keyword {} is outside the strict subset",
    "ref-with-siblings": "$ref may not have members beside it",
    "ref-not-local": "$ref has to point into this schema (#…)",
    "no-type": "one of type, anyOf, enum and allOf has to stand here",
    "type-word": "{} is no JSON Schema type",
    "enum-compound": "enum may hold no object and no list",
    "open-object": "an object has to say additionalProperties: false",
    "no-properties": "an object has to list its properties",
    "required-undeclared": "required names {}, which is no declared property",
    "optional": "every declared property has to be in required",
    "array-without-items": "an array has to describe its items",
    "items-not-an-object": "items has to be one schema object",
    "format": "the format {} is outside the strict subset here",
    "pattern": "the pattern uses a {}, which the strict subset does not know",
    "minItems": "minItems {} is above 1",
    "allOf-ref": "a branch of allOf may not be a $ref",
    "recursive": "the reference leads back to itself",
    "too-deep": f"objects may be nested {DEEPEST_OBJECT} deep",
    "too-many-properties": f"a schema may declare {MOST_PROPERTIES} properties",
    "too-many-enum-values": f"a schema may hold {MOST_ENUM_VALUES} enum values",
    "too-much-text": f"names, enum and const texts may take {MOST_TEXT_BYTES} bytes",
    "enum-too-long": f"an enum of more than {LONG_ENUM_VALUES} values may take {LONG_ENUM_BYTES} bytes",
    "over-budget": "the request's budget of strict {} is used up",
}


@dataclass(frozen=True, slots=True)
class _Node:
    schema: Json
    path: str
    pointer: str
    depth: int

    def child(self, schema: Json, step: str, *names: str | int, deeper: int = 0) -> _Node:
        pointer = self.pointer
        for name in names:
            pointer = strict_json.pointer(pointer, name)
        return _Node(schema, f"{self.path}{step}", pointer, self.depth + deeper)

    def problem(self, code: str) -> StrictProblem:
        return StrictProblem(self.path, code, self.pointer)


def problems(schema: Json, subset: Subset) -> tuple[StrictProblem, ...]:
    """Everything that keeps a schema out of a subset, sorted; empty when nothing does."""
    found: list[StrictProblem] = []
    if not isinstance(schema, dict) or schema.get("type") != "object":
        found.append(StrictProblem("schema", "root-not-object"))
    for node in _nodes(schema):
        found.extend(node.problem(code) for code in _node_problems(node, subset))
        if isinstance(node.schema, dict) and "$ref" not in node.schema:
            found.extend(_child_problems(node, node.schema, subset))
    if subset is Subset.OPENAI:
        found.extend(_size_problems(schema))
    else:
        found.extend(
            StrictProblem(text, "recursive", place) for text, place in references.circles_of_definitions(schema).items()
        )
    return tuple(sorted(set(found)))


def cost(schema: Json) -> StrictCost:
    """The optional and the union properties of a schema, definitions included, used or not."""
    options = unions = 0
    for node in _nodes(schema):
        if not isinstance(node.schema, dict):
            continue
        required = _required(node.schema)
        for name, child in _properties(node.schema):
            options += name not in required
            unions += isinstance(child, dict) and ("anyOf" in child or isinstance(child.get("type"), list))
    return StrictCost(options, unions)


def verdicts(
    schemas: Sequence[Json],
    subset: Subset,
    *,
    budget: StrictBudget | None = None,
    reserved: StrictCost = StrictCost(),
) -> list[StrictVerdict]:
    """The verdict on each schema of one request, served in order; what does not fit takes nothing (contract 4.3)."""
    answers = []
    tools, options, unions = 0, reserved.options, reserved.unions
    for schema in schemas:
        found = problems(schema, subset)
        if not found and budget is not None:
            wanted = cost(schema)
            found = tuple(
                StrictProblem("schema", f"over-budget:{noun}")
                for noun, fits in (
                    ("tools", tools + 1 <= budget.tools),
                    ("optional properties", options + wanted.options <= budget.options),
                    ("union properties", unions + wanted.unions <= budget.unions),
                )
                if not fits
            )
            if not found:
                tools, options, unions = tools + 1, options + wanted.options, unions + wanted.unions
        answers.append(StrictVerdict(strict=not found, problems=found))
    return answers


def fits(wanted: StrictCost, budget: StrictBudget) -> bool:
    """Whether a response schema alone is within the budget; it takes no tool's place."""
    return wanted.options <= budget.options and wanted.unions <= budget.unions


def _nodes(schema: Json) -> Iterator[_Node]:
    """Every schema the walk enters; a $ref ends its branch and unknown keywords are not looked into (contract 4.1)."""
    waiting = [_Node(schema, "schema", "", 1)]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node.schema, dict) or "$ref" in node.schema:
            continue
        for name, child in _properties(node.schema):
            waiting.append(node.child(child, f".{name}", "properties", name, deeper=1))
        items = node.schema.get("items")
        if _is_or_lists(node.schema, "array") and isinstance(items, dict):
            waiting.append(node.child(items, "[]", "items", deeper=1))
        for keyword in ("anyOf", "allOf"):
            branches = node.schema.get(keyword)
            for position, branch in enumerate(branches if isinstance(branches, list) else ()):
                waiting.append(node.child(branch, f".{keyword}[{position}]", keyword, position))
        for keyword in references.DEFINITION_TABLES:
            table = node.schema.get(keyword)
            for name, child in (table if isinstance(table, dict) else {}).items():
                waiting.append(node.child(child, f".{keyword}.{name}", keyword, name))


def _node_problems(node: _Node, subset: Subset) -> Iterator[str]:
    schema = node.schema
    if not isinstance(schema, dict):
        yield "not-an-object"
        return
    yield from (f"keyword:{name}" for name in schema if name not in KEYWORDS[subset])
    if "$ref" in schema:
        if len(schema) > 1:
            yield "ref-with-siblings"
        target = schema["$ref"]
        if not isinstance(target, str) or not target.startswith("#"):
            yield "ref-not-local"
        return
    if not any(name in schema for name in ("type", "anyOf", "enum", "allOf")):
        yield "no-type"
    yield from (f"type-word:{word}" for word in _type_words(schema) if word not in TYPE_WORDS)
    enum = schema.get("enum")
    if isinstance(enum, list) and any(isinstance(value, dict | list) for value in enum):
        yield "enum-compound"
    if _is_or_lists(schema, "object"):
        yield from _object_problems(schema)
        if subset is Subset.OPENAI and node.depth > DEEPEST_OBJECT:
            yield "too-deep"
    if _is_or_lists(schema, "array"):
        if "items" not in schema:
            yield "array-without-items"
        elif not isinstance(schema["items"], dict):
            yield "items-not-an-object"
    yield from _text_problems(schema, subset)
    least = schema.get("minItems")
    if subset is Subset.ANTHROPIC and isinstance(least, int) and not isinstance(least, bool) and least > 1:
        yield f"minItems:{least}"


def _object_problems(schema: dict[str, Json]) -> Iterator[str]:
    if schema.get("additionalProperties") is not False:
        yield "open-object"
    declared = schema.get("properties")
    if not isinstance(declared, dict):
        yield "no-properties"
        return
    yield from (f"required-undeclared:{name}" for name in sorted(_required(schema)) if name not in declared)


def _text_problems(schema: dict[str, Json], subset: Subset) -> Iterator[str]:
    form = schema.get("format")
    if isinstance(form, str):
        if _is_or_lists(schema, "string"):
            if form not in FORMATS[subset]:
                yield f"format:{form}"
        elif subset is Subset.ANTHROPIC:
            yield f"format:{form}"
    pattern = schema.get("pattern")
    if subset is Subset.ANTHROPIC and isinstance(pattern, str):
        yield from (f"pattern:{noun}" for noun, part in _PATTERN_PARTS if part.search(pattern))


def _child_problems(node: _Node, schema: dict[str, Json], subset: Subset) -> Iterator[StrictProblem]:
    """Problems that a node sees but that stand at one of its children."""
    if subset is Subset.OPENAI:
        required = _required(schema)
        for name, child in _properties(schema):
            if name not in required:
                yield node.child(child, f".{name}", "properties", name).problem("optional")
        return
    branches = schema.get("allOf")
    for position, branch in enumerate(branches if isinstance(branches, list) else ()):
        if isinstance(branch, dict) and "$ref" in branch:
            yield node.child(branch, f".allOf[{position}]", "allOf", position).problem("allOf-ref")


def _size_problems(schema: Json) -> Iterator[StrictProblem]:
    properties = enum_values = text_bytes = 0
    for node in _nodes(schema):
        if not isinstance(node.schema, dict) or "$ref" in node.schema:
            continue
        declared = [name for name, _ in _properties(node.schema)]
        properties += len(declared)
        text_bytes += _bytes(declared)
        for keyword in references.DEFINITION_TABLES:
            table = node.schema.get(keyword)
            text_bytes += _bytes(table if isinstance(table, dict) else ())
        enum = node.schema.get("enum")
        if isinstance(enum, list):
            enum_values += len(enum)
            enum_bytes = _bytes(value for value in enum if isinstance(value, str))
            text_bytes += enum_bytes
            if len(enum) > LONG_ENUM_VALUES and enum_bytes > LONG_ENUM_BYTES:
                yield node.problem("enum-too-long")
        const = node.schema.get("const")
        text_bytes += _bytes([const] if isinstance(const, str) else ())
    if properties > MOST_PROPERTIES:
        yield StrictProblem("schema", "too-many-properties")
    if enum_values > MOST_ENUM_VALUES:
        yield StrictProblem("schema", "too-many-enum-values")
    if text_bytes > MOST_TEXT_BYTES:
        yield StrictProblem("schema", "too-much-text")


def _properties(schema: dict[str, Json]) -> Iterable[tuple[str, Json]]:
    declared = schema.get("properties")
    if "$ref" in schema or not isinstance(declared, dict) or not _is_or_lists(schema, "object"):
        return ()
    return declared.items()


def _required(schema: dict[str, Json]) -> set[str]:
    required = schema.get("required")
    return {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()


def _type_words(schema: dict[str, Json]) -> list[str]:
    word = schema.get("type")
    words = word if isinstance(word, list) else [word]
    return [each for each in words if isinstance(each, str)]


def _is_or_lists(schema: dict[str, Json], word: str) -> bool:
    return word in _type_words(schema)


def _bytes(texts: Iterable[str]) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
