"""Where one token of YAML text ends and the next begins, as agentplane's reader sees it (contract 5.7)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from ruamel.yaml.scanner import Scanner, ScannerError

MAX_TAG_LENGTH = 1000

_LINE_BREAK = re.compile("\r\n|\r|\n")
_TAG_END = re.compile("[ \t\r\n\0]")


class PlaneScanner(Scanner):
    """The stock scanner where agentplane's reader agrees: `?x` in a flow collection is a text, `-]` is nothing, a tab may
    part a colon from its value, and a quoted text goes on further in than what holds it.
    """

    def scan_to_next_token(self) -> None:
        super().scan_to_next_token()
        while self.reader.peek() == "\t" and self._tab_only_parts():
            while self.reader.peek() in " \t":
                self.reader.forward()
            super().scan_to_next_token()

    def _tab_only_parts(self) -> bool:
        if self.flow_level:
            return True
        here = self.reader.pointer
        before = self.reader.buffer[here - self.reader.column : here].rstrip(" \t")
        return before != "" and before[-1] not in "-?"

    def scan_flow_scalar(self, style: Any) -> Any:
        token = super().scan_flow_scalar(style)
        if token.end_mark.line > token.start_mark.line:
            lines = _LINE_BREAK.split(self.reader.buffer[token.start_mark.index : token.end_mark.index])
            for before, line in pairwise(lines):
                joined = style == '"' and (len(before) - len(before.rstrip("\\"))) % 2 == 1
                held = line.lstrip(" ")
                free = joined or bool(self.flow_level) or held == "" or held.startswith(style)
                if len(line) - len(held) <= self.indent and (held.startswith("\t") or not free):
                    why = "a line of a quoted text begins no further in than what holds it"
                    raise ScannerError("while scanning a quoted scalar", None, why, token.start_mark)
        return token

    def scan_tag(self) -> Any:
        # The stock scanner reads and decodes a tag however long it is, and goes over it several times.
        ahead = self.reader.prefix(MAX_TAG_LENGTH)
        if len(ahead) == MAX_TAG_LENGTH and _TAG_END.search(ahead) is None:
            why = f"a tag has more than {MAX_TAG_LENGTH} characters"
            raise ScannerError("while scanning a tag", None, why, self.reader.get_mark())
        return super().scan_tag()

    def check_key(self) -> bool:
        return self.reader.peek(1) in " \t\r\n\0"

    def check_plain(self) -> bool:
        if self.flow_level and self.reader.peek() in "?-":
            return self.reader.peek(1) not in " \t\r\n\0,[]{}"
        return bool(super().check_plain())
