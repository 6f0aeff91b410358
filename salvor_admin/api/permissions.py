"""Who may ask what, as each view's class attributes say."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from salvor_admin.api.authentication import PersonCaller, RuntimeCaller
from salvor_admin.domain.refusals import Refusal
from salvor_admin.people import access as people_access


class HasToken(BasePermission):
    """Somebody known is asking; nobody else gets further."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if request.auth is None:
            raise Refusal(
                "unauthorized",
                "No token was sent; send `Authorization: Bearer` with a runtime's or a person's own token.",
            )
        return True


class FitsPolicy(BasePermission):
    """The view's `people` name the scope each method needs, its `runtimes` the methods a runtime may use.

    Which role decides is the service's word, inside its transaction.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method not in view.people and method not in view.runtimes:
            return True  # no such method here: the answer is 405
        caller = request.auth
        if isinstance(caller, RuntimeCaller) and method not in view.runtimes:
            raise Refusal(
                "not_allowed",
                f"A runtime's token may not {view.purpose}; a person does, in a page or with a token of their own.",
            )
        if isinstance(caller, PersonCaller):
            if method not in view.people:
                raise Refusal(
                    "not_allowed", f"Only a runtime may {view.purpose}; send a runtime's token (it begins with srt_)."
                )
            people_access.require_scope(caller.actor, view.people[method], f"to {view.purpose}")
        return True
