"""Finding calls by what somebody has at hand: a run's id, a key, a pinned or identity value, whole or from its beginning."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db.models import BooleanField, Count, F, Func, Q, QuerySet, Value
from django.db.models.functions import Concat

from salvor_admin.domain.refusals import Refusal
from salvor_admin.ledger.models import Intent, Run

LONGEST_SEARCH: Final = 300
BY_DUE: Final = ("waits_at", "id")
FEW: Final = 1000
"""So many finds at most are shown, by due time; beyond, nobody counts them."""
LOOKED_AT: Final = 200
DENSE: Final = 20
"""Where so many of the first calls looked at are found, the list is walked in its order until a page is full."""

_HEX = re.compile(r"[0-9a-f]{4,32}")
_CASE_NUMBER = re.compile(r"#([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Found:
    """Which calls a search leaves, and how many they are; None: to be counted. `more`: at least so many."""

    rows: QuerySet[Intent]
    number: int | None = None
    more: bool = False


def read(text: str) -> str:
    """What is looked for, or `bad_request`; case does not matter."""
    sought = text.strip().lower()
    if len(sought) > LONGEST_SEARCH or "\0" in sought:
        raise Refusal(
            "bad_request", f"Look for at most {LONGEST_SEARCH} characters, the NUL character not among them.", place="q"
        )
    return sought


def among_open(rows: QuerySet[Intent], text: str) -> Found:
    """The calls of `rows`, all of them open, that the text finds; `#12` is a case's number."""
    sought = read(text)
    if number := _CASE_NUMBER.fullmatch(sought):
        return Found(rows.filter(case__number=int(number[1])))
    runs = _runs(sought)
    first = rows.order_by(*BY_DUE).values("pk")[:LOOKED_AT]
    walked = Q(has_term(sought, walking=True))
    seen = rows.filter(pk__in=first).order_by().aggregate(all=Count("pk"), found=Count("pk", filter=walked))
    if seen["all"] == LOOKED_AT and seen["found"] >= DENSE:
        # The index would bring all of them before the first could be shown.
        walked_rows = rows.filter(walked | Q(run__in=runs) if runs is not None else walked)
        return Found(walked_rows, seen["found"], more=True)
    # What has only just begun to wait is not in the index yet; there is never much of it.
    parts = [rows.filter(has_term(sought), listed_at__isnull=unlisted) for unlisted in (False, True)]
    if runs is not None:
        parts.append(rows.filter(run__in=runs))
    finds = [part.order_by(*BY_DUE).values("pk", "waits_at")[: FEW + 1] for part in parts]
    ids = [found["pk"] for found in finds[0].union(*finds[1:]).order_by("waits_at", "pk")[: FEW + 1]]
    return Found(rows.filter(pk__in=ids[:FEW]), len(ids[:FEW]), more=len(ids) > FEW)


def among_some(rows: QuerySet[Intent], text: str) -> QuerySet[Intent]:
    """The same among calls that are few already, in whatever state."""
    sought = read(text)
    if number := _CASE_NUMBER.fullmatch(sought):
        return rows.filter(case__number=int(number[1]))
    runs = _runs(sought)
    return rows.filter(Q(has_term(sought)) | Q(run__in=runs) if runs is not None else has_term(sought))


def has_term(sought: str, *, walking: bool = False) -> Func:
    """Whether some term of a call begins with the text; `walking` keeps the planner from the index."""
    # The bare prefix is no part of a key yet, and an empty word is none to look for.
    word = sought.removeprefix("sha256:") or sought
    text = word[:200].replace("\\", "\\\\").replace("'", "''")
    subject = Concat(F("subject"), Value("")) if walking else F("subject")
    terms = Func(subject, F("idempotency_key"), function="call_terms")
    query = Func(Value(f"'{text}':*"), template="%(expressions)s::tsquery")
    return Func(terms, query, template="(%(expressions)s)", arg_joiner=" @@ ", output_field=BooleanField())


def _runs(sought: str) -> QuerySet[Run] | None:
    """The runs whose id begins with the text, when it could be the beginning of one."""
    digits = sought.replace("-", "")
    if not _HEX.fullmatch(digits):
        return None
    return Run.objects.filter(run_id__gte=UUID(digits.ljust(32, "0")), run_id__lte=UUID(digits.ljust(32, "f"))).values(
        "pk"
    )  # type: ignore[return-value]
