"""The description of `/api` that machines read, made from the views and their shapes."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema

_ERROR: Final = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string", "description": "Stable; what a program reads."},
                "message": {"type": "string", "description": "What was refused, why, and what next."},
                "details": {
                    "type": "object",
                    "additionalProperties": True,
                    "description": "`place` is where in the request; `state` and `holder` are what stands in the way.",
                },
            },
            "additionalProperties": False,
        }
    },
}
_REFUSED: Final = {
    "description": "Refused, and nothing was written.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}
_NOT_MODIFIED: Final = {"description": "What the caller holds under this `ETag` is what is."}
_IF_NONE_MATCH: Final = {
    "in": "header",
    "name": "If-None-Match",
    "schema": {"type": "string"},
    "description": "The `ETag` of an earlier answer.",
}


class BearerTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How a token is sent."""

    target_class = "salvor_admin.api.authentication.BearerToken"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A runtime's token begins with srt_, a person's own with spt_.",
        }


class PolicyInWords(AutoSchema):
    """Describes a view by its docstring and by who may use it."""

    def get_description(self) -> str:  # type: ignore[override]
        told = str(super().get_description())
        return f"{told} Takes {policy_of(self.view, self.method)}."


def policy_of(view: Any, method: str) -> str:
    """Who may use a method of a view, in a few words."""
    words = []
    if method in view.people:
        words.append(f"a person's token (scope {view.people[method]})")
    if method in view.runtimes:
        words.append("a runtime's token")
    return " or ".join(words) or "anybody, without a token"


@cache
def document() -> dict[str, Any]:
    """The whole description; the same for everybody."""
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    described: dict[str, Any] = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    described["components"]["schemas"]["Error"] = _ERROR
    for methods in described["paths"].values():
        for method, operation in methods.items():
            operation["responses"]["4XX"] = _REFUSED
            if method == "get":
                operation["responses"]["304"] = _NOT_MODIFIED
                operation["parameters"] = [*operation.get("parameters", ()), _IF_NONE_MATCH]
    return described
