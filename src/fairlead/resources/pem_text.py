"""Finds PEM blocks in a text in one pass, in linear time for any input."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

_BEGIN = re.compile(rb"^-----BEGIN ([^\r\n]*)-----[ \t\r]*\n", re.MULTILINE)
_END = re.compile(rb"-----END ([^\r\n]*)-----[ \t\r]*$", re.MULTILINE)


def pem_blocks(text: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the label and content of each block. A block ends at the next END line; if that has
    another label the block is skipped. Text between blocks is ignored."""
    ends = list(_END.finditer(text))
    places = [end.start() for end in ends]
    read_to = 0
    for begin in _BEGIN.finditer(text):
        if begin.start() < read_to:
            continue
        index = bisect_left(places, begin.end())
        if index == len(ends):
            return
        end = ends[index]
        if end[1] == begin[1]:
            yield begin[1].decode(errors="replace"), text[begin.end() : end.start()]
            read_to = end.end()
