"""Provider rules about names, descriptions, cache marks and how many tools there are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from salvor_admin.domain.declarations import CacheTtl, ToolDeclaration
from salvor_admin.domain.providers.limits import Limit
from salvor_admin.domain.providers.sightings import Offered, OfferRule, Rule, Sighting, shown
from salvor_admin.domain.tool_ids import RESERVED_WIRE_NAMES


def _name_empty(it: Offered, limit: Limit) -> Iterator[Sighting]:
    if not it.offer.name:
        yield Sighting("/name", "The name is empty.", "Give the offer a name.")


def _name_characters(it: Offered, limit: Limit) -> Iterator[Sighting]:
    if not re.fullmatch(limit.value, it.offer.name):
        yield Sighting(
            "/name",
            f"The name {shown(it.offer.name)} holds characters outside {limit.value.rstrip('*')}.",
            f"Offer the tool under another name, such as {it.alias}.",
        )


def _name_first_character(it: Offered, limit: Limit) -> Iterator[Sighting]:
    if it.offer.name and not re.match(limit.value, it.offer.name):
        yield Sighting(
            "/name",
            f"The name {shown(it.offer.name)} does not begin with one of {limit.value}.",
            f"Offer the tool under another name, such as {it.alias}.",
        )


def _name_too_long(it: Offered, limit: Limit) -> Iterator[Sighting]:
    if len(it.offer.name) > limit.value:
        yield Sighting(
            "/name",
            f"The name is {len(it.offer.name)} characters long, and the limit is {limit.value}"
            f"{f': {limit.note}' if limit.note else ''}.",
            f"Offer the tool under a shorter name, such as {it.alias}.",
        )


def _name_reserved(it: Offered, limit: Limit) -> Iterator[Sighting]:
    if it.offer.name in RESERVED_WIRE_NAMES:
        yield Sighting(
            "/name",
            f"{it.offer.name} is the driver's own tool for structured answers, so its calls would be dropped.",
            "Offer the tool under another name.",
        )


def _description_empty(it: Offered, limit: Limit) -> Iterator[Sighting]:
    if not it.offer.description:
        yield Sighting("/description", "The description is empty.", "Say what the tool does.")


def _description_too_long(it: Offered, limit: Limit) -> Iterator[Sighting]:
    if len(it.offer.description) > limit.value:
        yield Sighting(
            "/description",
            f"The description is {len(it.offer.description)} characters long, and the limit is {limit.value}"
            f"{f': {limit.note}' if limit.note else ''}.",
            "Shorten it; nothing is cut by itself.",
        )


def _name_offered_twice(offers: Sequence[ToolDeclaration], limit: Limit) -> Iterator[Sighting]:
    counted = Counter(offer.name for offer in offers)
    for index, offer in enumerate(offers):
        if counted[offer.name] > 1:
            yield Sighting(
                f"/{index}/name",
                f"{counted[offer.name]} offers are called {shown(offer.name)}; a call by that name could mean any of them.",
                "Give each its own name, or leave all but one out.",
            )


def _too_many_tools(offers: Sequence[ToolDeclaration], limit: Limit) -> Iterator[Sighting]:
    if len(offers) > limit.value:
        yield Sighting(
            "",
            f"{len(offers)} tools are offered, and the limit is {limit.value}.",
            "Offer fewer; the order is kept, nothing is left out by itself.",
        )


def _too_many_cache_marks(offers: Sequence[ToolDeclaration], limit: Limit) -> Iterator[Sighting]:
    marked = [index for index, offer in enumerate(offers) if offer.cache is not None]
    if len(marked) > limit.value:
        yield Sighting(
            f"/{marked[limit.value]}/cache",
            f"{len(marked)} declarations carry a cache mark, and a request may hold {limit.value} in all.",
            "Mark the last declaration alone: the cached prefix then covers every tool.",
        )


def _cache_marks_out_of_order(offers: Sequence[ToolDeclaration], limit: Limit) -> Iterator[Sighting]:
    shorter_before = False
    for index, offer in enumerate(offers):
        if offer.cache is CacheTtl.FIVE_MINUTES:
            shorter_before = True
        elif offer.cache is CacheTtl.ONE_HOUR and shorter_before:
            yield Sighting(
                f"/{index}/cache",
                "A mark of one hour stands after one of five minutes; the longest has to come first.",
                "Move the longer mark before the shorter ones, or give both the same time.",
            )


def _cache_mark_dropped(it: Offered, limit: Limit) -> Iterator[Sighting]:
    if it.offer.cache is not None:
        yield Sighting("/cache", "This provider takes no cache mark; it is not sent.", "Nothing to do.")


RULES: dict[str, Rule] = {
    "name_empty": _name_empty,
    "name_characters": _name_characters,
    "name_first_character": _name_first_character,
    "name_too_long": _name_too_long,
    "name_reserved": _name_reserved,
    "description_empty": _description_empty,
    "description_too_long": _description_too_long,
    "cache_mark_dropped": _cache_mark_dropped,
}
OFFER_RULES: dict[str, OfferRule] = {
    "name_offered_twice": _name_offered_twice,
    "too_many_tools": _too_many_tools,
    "too_many_cache_marks": _too_many_cache_marks,
    "cache_marks_out_of_order": _cache_marks_out_of_order,
}
