"""A list of offers as a file: what `render_offer` reads."""

from __future__ import annotations

from typing import NoReturn

from salvor_admin.domain import declarations, strict_json, tool_ids
from salvor_admin.domain.declarations import CacheTtl, ToolDeclaration
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Doubled, Json, pointer

MOST_BYTES = 4 * 1024 * 1024
MOST_VALUES = 200_000
MOST_TOOLS = 2_000
MOST_SCHEMA_BYTES = 1024 * 1024
_MEMBERS = ("name", "offering", "named", "description", "parameters_text", "cache")
_MAY_BE_NULL = ("named", "cache")


def read_offers(raw: bytes) -> list[ToolDeclaration]:
    """The declarations of a file, in its order; anything not understood is refused with its place."""
    if len(raw) > MOST_BYTES:
        _refuse(f"it takes more than {MOST_BYTES} bytes; offer fewer or smaller tools", "")
    if strict_json.is_crowded(raw, MOST_VALUES):
        _refuse(f"it holds more than {MOST_VALUES} values; offer fewer or smaller tools", "")
    try:
        entries = strict_json.read_strict(raw)
    except Refusal as why:
        raise Refusal("offer_file_invalid", f"The file cannot be read: {why.message}", place=why.place) from None
    if not isinstance(entries, list):
        _refuse("it holds no list; write a JSON list with one object a tool", "")
    if len(entries) > MOST_TOOLS:
        _refuse(f"it offers {len(entries)} tools, and {MOST_TOOLS} are read; no provider takes as many", "")
    return [_offer(entry, pointer("", index)) for index, entry in enumerate(entries)]


def _offer(entry: Json, place: str) -> ToolDeclaration:
    if not isinstance(entry, dict):
        _refuse("an entry is no object; describe each tool as an object", place)
    entry = {name: value for name, value in entry.items() if value is not None or name not in _MAY_BE_NULL}
    for name, value in entry.items():
        if name not in _MEMBERS:
            _refuse(f"{name[:80]!a} is no member of a tool; there are {', '.join(_MEMBERS)}", pointer(place, name))
        if not isinstance(value, str):
            _refuse(f"{name} is no text; write it as a text", pointer(place, name))
    if ("name" in entry) is ("offering" in entry):
        _refuse("a tool has either a name or an offering (a tool reference); give exactly one of them", place)
    for name in ("description", "parameters_text"):
        if name not in entry:
            _refuse(f"{name} is missing; give it", pointer(place, name))
    parameters = _parameters(entry["parameters_text"], pointer(place, "parameters_text"))
    if "offering" in entry:
        tool = tool_ids.parse(entry["offering"], place=pointer(place, "offering"))
        offer = declarations.offering(tool, entry["description"], parameters)
    else:
        offer = declarations.new(entry["name"], entry["description"], parameters)
    if "named" in entry:
        offer = offer.named(entry["named"])
    if "cache" in entry:
        if entry["cache"] not in set(CacheTtl):
            _refuse(f"cache is one of {', '.join(CacheTtl)}; write one of them", pointer(place, "cache"))
        offer = offer.cache_breakpoint(CacheTtl(entry["cache"]))
    return offer


def _parameters(text: str, place: str) -> Json:
    raw = text.encode()
    if len(raw) > MOST_SCHEMA_BYTES:
        _refuse(f"parameters_text takes {len(raw)} bytes, and {MOST_SCHEMA_BYTES} are read; make it smaller", place)
    try:
        value = strict_json.read(raw)
        # Wrapped, because only the reading of members tells where one stands twice.
        wrapped = b'{"parameters":' + raw + b"}"
        marked = strict_json.read_members(wrapped, {"parameters"}, max_depth=strict_json.MAX_DEPTH + 1)
    except Refusal as why:
        raise Refusal("offer_file_invalid", f"parameters_text cannot be read: {why.message}", place=place) from None
    waiting = [marked["parameters"]]
    while waiting:
        current = waiting.pop()
        if isinstance(current, Doubled):
            twice = min(current.names)
            _refuse(f"in parameters_text the member {twice[:80]!a} stands twice; write it once", place)
        if isinstance(current, dict | list):
            waiting.extend(current.values() if isinstance(current, dict) else current)
    return value


def _refuse(why: str, place: str) -> NoReturn:
    raise Refusal("offer_file_invalid", f"The file cannot be read: {why}.", place=place)
