"""Parts of a document's page that later apps bring: who loaded it, how often it was called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from salvor_admin.people.access import Actor
from salvor_admin.reviews.models import Document


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page: its template is told what `of` returns, as `section`."""

    name: str
    order: int
    template: str
    of: Callable[[Actor, Document], Any]


@dataclass(frozen=True, slots=True)
class Shown:
    """A section of one page."""

    template: str
    told: Any


_sections: list[Section] = []


def register_section(section: Section) -> None:
    """Adds a part to every document's page; once per name."""
    _sections[:] = sorted(
        [kept for kept in _sections if kept.name != section.name] + [section], key=lambda each: each.order
    )


def sections_of(actor: Actor, document: Document) -> list[Shown]:
    """The parts of this document's page, in order."""
    return [Shown(section.template, section.of(actor, document)) for section in _sections]
