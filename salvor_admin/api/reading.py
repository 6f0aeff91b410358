"""The OpenAPI description laid out for people: endpoints by noun, and each shape as one would write it down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_DEEPEST: Final = 8
_WORDS: Final = {"uuid": "id", "date-time": "time"}


@dataclass(frozen=True, slots=True)
class StatusMeaning:
    """When a refusal has this status."""

    status: int
    meaning: str


STATUSES: Final = (
    StatusMeaning(400, "The request cannot be read, or a member is unknown, missing or of the wrong kind."),
    StatusMeaning(401, "No token, or one that opens nothing."),
    StatusMeaning(403, "own_revision where whoever wrote it would decide; otherwise not_allowed, with who could."),
    StatusMeaning(404, "Not there, or not for this token."),
    StatusMeaning(409, "The state of things says no: details name the state, and who holds it."),
    StatusMeaning(412, "The content changed since it was shown: details name the digest that stands."),
    StatusMeaning(413, "The body is too large."),
    StatusMeaning(415, "The body is not JSON."),
    StatusMeaning(422, "A rule says no: details name the place."),
)


@dataclass(frozen=True, slots=True)
class Query:
    """Something that may stand in the address."""

    name: str
    words: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one address, with the shapes that go in and come out."""

    anchor: str
    method: str
    path: str
    told: str
    queries: list[Query]
    body: str
    answer: str
    status: str


@dataclass(frozen=True, slots=True)
class Group:
    """The endpoints about one noun."""

    noun: str
    endpoints: list[Endpoint]


def groups(document: Mapping[str, Any]) -> list[Group]:
    """Every endpoint, by the first part of its address."""
    found: dict[str, list[Endpoint]] = {}
    for path, methods in document["paths"].items():
        noun = path.removeprefix("/api/").split("/")[0]
        for method, operation in methods.items():
            found.setdefault(noun.replace("-", " "), []).append(_endpoint(document, path, method, operation))
    return [Group(noun, endpoints) for noun, endpoints in sorted(found.items())]


def _endpoint(document: Mapping[str, Any], path: str, method: str, operation: Mapping[str, Any]) -> Endpoint:
    status, response = next((status, each) for status, each in operation["responses"].items() if status[0] == "2")
    return Endpoint(
        anchor=operation["operationId"].replace("_", "-"),
        method=method.upper(),
        path=path,
        told=operation.get("description", "").replace("`", ""),
        queries=[
            Query(each["name"], ". ".join(filter(None, [_words(each["schema"]), each.get("description", "")])))
            for each in operation.get("parameters", ())
            if each["in"] == "query"
        ],
        body=_content(document, operation.get("requestBody", {})),
        answer=_content(document, response),
        status=status,
    )


def _content(document: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    schema = part.get("content", {}).get("application/json", {}).get("schema")
    return "" if schema is None else shape(document, schema)


def _words(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(str(word) for word in schema["enum"])
    return str(schema.get("format") or schema.get("type") or "")


def shape(document: Mapping[str, Any], schema: Mapping[str, Any], depth: int = 0) -> str:
    """A schema as one would write the value down: members by name, `?` where one may be left out."""
    if depth > _DEEPEST:
        return "…"
    if "$ref" in schema:
        named = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        return shape(document, named, depth)
    for combined in ("oneOf", "anyOf"):
        if combined in schema:
            return "\nor ".join(shape(document, each, depth) for each in schema[combined] if each != {"enum": [None]})
    if "allOf" in schema:
        told = shape(document, schema["allOf"][0], depth)
    elif "enum" in schema:
        told = _choice([f'"{word}"' for word in schema["enum"] if word is not None], "  " * (depth + 1))
    elif schema.get("type") == "array":
        told = f"[{shape(document, schema['items'], depth)}, …]"
    elif "properties" in schema or schema.get("type") == "object":
        told = _members(document, schema, depth)
    else:
        kind = _WORDS.get(schema.get("format", ""), schema.get("type", "any value"))
        told = {"string": '"…"', "integer": "1", "boolean": "true | false", "id": '"<id>"', "time": '"<time>"'}.get(
            kind, kind
        )
    return f"{told} | null" if schema.get("nullable") else told


def _choice(words: list[str], pad: str) -> str:
    """Words to choose from, a few on each line so that none of them leaves the page."""
    lines = [" | ".join(words[at : at + 4]) for at in range(0, len(words), 4)]
    return f"\n{pad}| ".join(lines)


def _members(document: Mapping[str, Any], schema: Mapping[str, Any], depth: int) -> str:
    properties = schema.get("properties", {})
    if not properties:
        return "{}"
    needed = set(schema.get("required", properties))
    pad = "  " * (depth + 1)
    lines = [
        f'{pad}"{name}"{"" if name in needed else "?"}: {shape(document, member, depth + 1)}'
        for name, member in properties.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n" + "  " * depth + "}"
