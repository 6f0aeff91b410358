"""A mail as people read it: what is so, why it came, what happens if nobody acts, and links that only open pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from django.conf import settings
from django.urls import reverse

from salvor_admin.delivery import plain_text
from salvor_admin.domain.mailing import ASKING, Kind
from salvor_admin.people.models import Workspace

LONGEST_LIST: Final = 50
"""How many things one mail lists; the rest it counts."""
_DECIDES_NOTHING: Final = (
    "This mail decides nothing, and opening a link decides nothing: answers are given on the pages."
)
_HEADINGS: Final = {
    Kind.CALL_OVERDUE: "Calls that nobody answered in time",
    Kind.CALL_HANDED_OVER: "Handed to you",
    Kind.CALL_WAITS: "Calls that wait",
    Kind.LOOK_BACK_ASKED: "Revoked at once, to be looked back at",
    Kind.REVOKED: "Revoked at once",
    Kind.REVIEW_ASKED: "To be reviewed",
    Kind.PUBLISHING_ASKED: "To be published",
    Kind.STALED: "Stale",
    Kind.VERDICT_GIVEN: "Verdicts",
    Kind.WITHDRAWN: "Withdrawn",
    Kind.PUBLISHED: "Live now",
    Kind.CALL_ANSWERED: "Calls that were answered",
    Kind.TOKEN_MADE: "Tokens that speak for you",
}


class Moot(Exception):
    """Nobody needs this mail any more; says why."""


@dataclass(frozen=True, slots=True)
class Letter:
    """One thing to tell. Whatever is not our own wording in it is marked and cut already."""

    kind: Kind
    state: str
    about: str
    age: str
    path: str
    why: str
    if_nobody_acts: str
    facts: tuple[tuple[str, str], ...] = ()
    quoted: str = ""

    @property
    def line(self) -> str:
        return f"{self.state}: {self.about}, {self.age}"


@dataclass(frozen=True, slots=True)
class Mail:
    """Subject and body, plain text both."""

    subject: str
    body: str


def link(path: str) -> str:
    """The address of one of our pages."""
    return f"{settings.PUBLIC_URL}{path}"


def single(letter: Letter, workspace: Workspace) -> Mail:
    """A mail about one thing."""
    parts = [letter.line + "."]
    if letter.facts:
        width = max(len(name) for name, _ in letter.facts) + 2
        parts.append("\n".join(f"{name:<{width}}{value}" for name, value in letter.facts))
    if letter.quoted:
        parts.append(letter.quoted)
    parts += [
        f"Open it: {link(letter.path)}",
        f"Why you get this: {letter.why}",
        f"If nobody acts: {letter.if_nobody_acts}",
    ]
    return Mail(f"{letter.line} ({workspace.key})", _body(parts, workspace))


def bundle(letters: Sequence[Letter], workspace: Workspace, *, unlisted: int = 0, is_digest: bool = True) -> Mail:
    """One mail about many things, the most pressing first; `unlisted` more are only counted."""
    order = list(Kind)
    listed = sorted(letters, key=lambda letter: order.index(letter.kind))
    parts = []
    for kind, rows in groupby(listed, key=lambda letter: letter.kind):
        group = list(rows)
        lines = [_HEADINGS[kind], *(f"- {letter.line}\n  {link(letter.path)}" for letter in group)]
        lines += [f"Why you get this: {words}" for words in dict.fromkeys(letter.why for letter in group)]
        lines += [f"If nobody acts: {words}" for words in dict.fromkeys(letter.if_nobody_acts for letter in group)]
        parts.append("\n".join(lines))
    if unlisted:
        parts.append(f"And {unlisted} more: {link(reverse('home:workspace', args=[workspace.key]))}")
    asking = sum(letter.kind in ASKING for letter in listed)
    total = len(listed) + unlisted
    what = "Digest" if is_digest else "Many at once"
    subject = f"{what}: {total} {'thing' if total == 1 else 'things'}"
    if asking:
        subject += f", at least {asking} to act on" if unlisted else f", {asking} to act on"
    return Mail(f"{subject} ({workspace.key})", _body(parts, workspace))


def _body(parts: Sequence[str], workspace: Workspace) -> str:
    choice = f"Choose what you hear by mail: {link(reverse('delivery:mail', args=[workspace.key]))}"
    return "\n\n".join([*parts, f"-- \n{_DECIDES_NOTHING}\n{choice}"]) + "\n"


def named(name: str, username: str = "") -> str:
    """A person's name within a line."""
    return plain_text.on_one_line(name or username)
