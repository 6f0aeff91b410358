"""Tool grants: which tool an agent may call, and on what terms (contract 5.1 and 5.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from salvor_admin.domain import canonical, tool_ids
from salvor_admin.domain.labels import Sensitivity
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.shapes import (
    Place,
    Shape,
    always,
    anything,
    boolean,
    list_of,
    optional,
    required,
    text,
    unless_empty,
    unsigned,
    word,
)
from salvor_admin.domain.strict_json import Json

LONGEST_WINDOW_SECONDS = 31 * 24 * 60 * 60

# What Rust's trim() takes away, which is less than Python's strip().
BLANKS = "".join(map(chr, (*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029))) + (
    "\u202f\u205f\u3000"
)

SENSITIVITY = word(*Sensitivity)

PROTECTED_FIELD = Shape(
    "a protected field",
    (
        required("path", text),
        always("require_trusted", boolean, False),
        unless_empty("allowed_sources", list_of(text)),
        unless_empty("one_of", list_of(anything)),
        optional("max_sensitivity", SENSITIVITY),
    ),
)

RATE_LIMIT = Shape("a rate limit", (required("count", unsigned(32)), required("window_seconds", unsigned(64))))

GRANT = Shape(
    "a grant",
    (
        required("ref", text),
        always("mutates", boolean, True),
        optional("max_sensitivity", SENSITIVITY),
        unless_empty("protected_fields", list_of(PROTECTED_FIELD)),
        optional("description", text),
        unless_empty("requires_approval", boolean),
        optional("preview", text),
        optional("arguments", anything),
        optional("rate_limit", RATE_LIMIT),
    ),
)


@dataclass(frozen=True, slots=True)
class ProtectedField:
    """A rule for one JSON pointer inside the arguments; empty sources or values mean the rule is not set."""

    path: str
    require_trusted: bool = False
    allowed_sources: tuple[str, ...] = ()
    one_of: tuple[Json, ...] = ()
    max_sensitivity: Sensitivity | None = None

    @property
    def bounds_authority(self) -> bool:
        """Whether it says who or what may fill the field, and not only how secret it may be."""
        return self.require_trusted or bool(self.allowed_sources) or bool(self.one_of)

    def tree(self) -> dict[str, Json]:
        """Its canonical tree (contract 5.6)."""
        tree: dict[str, Json] = {"path": self.path, "require_trusted": self.require_trusted}
        if self.allowed_sources:
            tree["allowed_sources"] = sorted(set(self.allowed_sources), key=str.encode)
        if self.one_of:
            tree["one_of"] = list(self.one_of)
        if self.max_sensitivity is not None:
            tree["max_sensitivity"] = self.max_sensitivity.value
        return tree


@dataclass(frozen=True, slots=True)
class RateLimit:
    """At most so many calls in any window, over all runs and agents."""

    count: int
    window_seconds: int


@dataclass(frozen=True, slots=True)
class ToolGrant:
    """One reviewed statement that an agent may call exactly this tool under these conditions."""

    reference: str
    mutates: bool = True
    max_sensitivity: Sensitivity | None = None
    protected_fields: tuple[ProtectedField, ...] = ()
    description: str | None = None
    requires_approval: bool = False
    preview: str | None = None
    arguments: Json = None
    rate_limit: RateLimit | None = None

    @property
    def is_consultation(self) -> bool:
        """Whether it grants asking another agent (contract 1)."""
        return self.reference.startswith(f"{tool_ids.SCHEME}{tool_ids.AGENT_SERVER}/")

    def tree(self) -> dict[str, Json]:
        """Its canonical tree: fields sorted by path, what is absent left out (contract 5.6)."""
        tree: dict[str, Json] = {"ref": self.reference, "mutates": self.mutates}
        if self.max_sensitivity is not None:
            tree["max_sensitivity"] = self.max_sensitivity.value
        if self.protected_fields:
            tree["protected_fields"] = [field.tree() for field in sorted_fields(self.protected_fields)]
        if self.description is not None:
            tree["description"] = self.description
        if self.requires_approval:
            tree["requires_approval"] = True
        if self.preview is not None:
            tree["preview"] = self.preview
        if self.arguments is not None:
            tree["arguments"] = self.arguments
        if self.rate_limit is not None:
            tree["rate_limit"] = {
                "count": self.rate_limit.count,
                "window_seconds": self.rate_limit.window_seconds,
            }
        return tree


def sorted_fields(fields: tuple[ProtectedField, ...]) -> list[ProtectedField]:
    """Fields by the bytes of their path, as the digest and the sink see them."""
    return sorted(fields, key=lambda field: field.path.encode())


def read_grant(value: Json, place: Place = Place()) -> ToolGrant:  # noqa: B008
    """A grant of the right shape; whether it says anything sensible is `check_grant`'s and the manifest's business."""
    return from_tree(GRANT(value, place))


def from_tree(tree: Mapping[str, Any]) -> ToolGrant:
    """The grant of a canonical tree."""
    rate = tree.get("rate_limit")
    ceiling = tree.get("max_sensitivity")
    return ToolGrant(
        reference=tree["ref"],
        mutates=tree["mutates"],
        max_sensitivity=None if ceiling is None else Sensitivity(ceiling),
        protected_fields=tuple(map(_field, tree.get("protected_fields", ()))),
        description=tree.get("description"),
        requires_approval=tree.get("requires_approval", False),
        preview=tree.get("preview"),
        arguments=tree.get("arguments"),
        rate_limit=None if rate is None else RateLimit(rate["count"], rate["window_seconds"]),
    )


def _field(tree: Mapping[str, Any]) -> ProtectedField:
    ceiling = tree.get("max_sensitivity")
    return ProtectedField(
        path=tree["path"],
        require_trusted=tree["require_trusted"],
        allowed_sources=tuple(tree.get("allowed_sources", ())),
        one_of=tuple(tree.get("one_of", ())),
        max_sensitivity=None if ceiling is None else Sensitivity(ceiling),
    )


# --- what a grant alone can get wrong (contract 5.4, rules 10 and 22) --------------------------------------------------


def is_blank(written: str) -> bool:
    return not written.strip(BLANKS)


def check_grant(grant: ToolGrant, place: Place) -> None:
    """Rule 22 for one grant: its reference, then its fields one after the other."""
    if is_blank(grant.reference):
        _refuse("grant-references", place.member("ref"), "spec.tools[].ref is blank; write tool://SERVER/TOOL")
    if not tool_ids.is_reference(grant.reference):
        _refuse(
            "grant-references",
            place.member("ref"),
            f"spec.tools: '{grant.reference}' is not a tool reference; write tool://SERVER/TOOL",
        )
    seen: set[str] = set()
    fields = grant.protected_fields
    for index in sorted(range(len(fields)), key=lambda index: fields[index].path.encode()):
        field, at = fields[index], place.member("protected_fields").item(index)
        _check_field(grant.reference, field, at)
        if field.path in seen:
            _refuse_field(grant.reference, field, at, "is protected twice; put its rules into one entry")
        seen.add(field.path)


def check_rate_limit(grant: ToolGrant, place: Place) -> None:
    """Rule 10."""
    rate = grant.rate_limit
    if rate is None:
        return
    at = place.member("rate_limit")
    if rate.count == 0:
        _refuse(
            "rate-limit",
            at.member("count"),
            f"spec.tools: the rate_limit of '{grant.reference}' admits no call; remove the grant to forbid the tool",
        )
    if not 0 < rate.window_seconds <= LONGEST_WINDOW_SECONDS:
        _refuse(
            "rate-limit",
            at.member("window_seconds"),
            f"spec.tools: the rate_limit window of '{grant.reference}' is {rate.window_seconds} seconds; "
            f"it has to be from 1 to {LONGEST_WINDOW_SECONDS}",
        )


def is_pointer(path: str) -> bool:
    """Whether a text is a JSON pointer: empty, or from a slash on, with `~` only before 0 or 1."""
    if path and not path.startswith("/"):
        return False
    return all(following[:1] in ("0", "1") for following in path.split("~")[1:])


def _check_field(reference: str, field: ProtectedField, place: Place) -> None:
    if not is_pointer(field.path):
        _refuse_field(
            reference, field, place, "has a path that is no JSON pointer: start it with '/'; ~0 and ~1 escape"
        )
    if field.require_trusted and field.allowed_sources:
        _refuse_field(reference, field, place, "has both require_trusted and allowed_sources; keep one")
    if not field.bounds_authority and field.max_sensitivity is None:
        _refuse_field(
            reference,
            field,
            place,
            "has no rule; add require_trusted, allowed_sources, one_of or max_sensitivity",
        )
    listed: set[str] = set()
    for index, value in enumerate(field.one_of):
        spelt = canonical.text(_without_negative_zero(value))
        if spelt in listed:
            _refuse_field(reference, field, place.member("one_of").item(index), "lists a value twice in one_of")
        listed.add(spelt)


def _without_negative_zero(value: Json) -> Json:
    """0.0 and -0.0 are one value, though they are spelt differently."""
    if isinstance(value, dict):
        return {name: _without_negative_zero(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_negative_zero(inner) for inner in value]
    return 0.0 if isinstance(value, float) and value == 0.0 else value


def _refuse_field(reference: str, field: ProtectedField, place: Place, why: str) -> NoReturn:
    _refuse("protected-fields", place, f"spec.tools['{reference}'].protected_fields: the path '{field.path}' {why}")


def _refuse(rule: str, place: Place, why: str) -> NoReturn:
    refuse_rule(rule, place.pointer, why)


def refuse_rule(rule: str, place: str | None, why: str) -> NoReturn:
    """A refusal by one of the contract's named rules."""
    code = f"manifest_{rule.replace('-', '_')}"
    told = why if len(why) <= 3_000 else f"{why[:2_000]}… ({len(why)} characters) …{why[-900:]}"
    raise Refusal(code, f"{told}.", place=place)
