"""What a person chose about the look of pages, kept in cookies: it decides nothing and follows the browser."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_POST

from salvor_admin.domain.refusals import Refusal
from salvor_admin.web.addresses import safe_path

THEMES = ("system", "light", "dark")
TIMES = ("relative", "utc")
SWITCH = ("on", "off")

CHOICES: dict[str, tuple[str, ...]] = {"theme": THEMES, "times": TIMES, "single_keys": SWITCH}
_YEAR = 365 * 86400


@dataclass(frozen=True, slots=True)
class Preferences:
    """Theme, how times are told, and whether single letters are keys."""

    theme: str = "system"
    times: str = "relative"
    single_keys: str = "on"

    @property
    def fixed_theme(self) -> str:
        """What `data-theme` says; empty when the system decides."""
        return "" if self.theme == "system" else self.theme


def of(request: HttpRequest) -> Preferences:
    """The preferences a browser sent; odd values count as not chosen."""
    chosen = {name: request.COOKIES.get(f"salvor_{name}", "") for name in CHOICES}
    return Preferences(**{name: value for name, value in chosen.items() if value in CHOICES[name]})


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Keeps what was chosen and goes back to where it was chosen."""
    given = {name: request.POST[name] for name in CHOICES if name in request.POST}
    odd = [name for name, value in given.items() if value not in CHOICES[name]]
    if odd or not given:
        name = odd[0] if odd else "theme"
        raise Refusal("bad_request", f"{name} must be one of {', '.join(CHOICES[name])}.", place=name)
    response = HttpResponseRedirect(safe_path(request, request.POST.get("next")) or "/")
    response.status_code = 303
    for name, value in given.items():
        response.set_cookie(
            f"salvor_{name}", value, max_age=_YEAR, samesite="Lax", httponly=True, secure=settings.SESSION_COOKIE_SECURE
        )
    return response
