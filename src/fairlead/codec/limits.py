"""How large and how deep a document may be, whatever format it comes in."""

from __future__ import annotations

import re
from typing import Any

import orjson

from fairlead.base.budget import OverSize

# The encoder bears 254 levels. What is put around an object (lists, tables, events, reviews) and
# into it (owned fields) needs some of them.
MOST_DEPTH = 240
_ENCODER_DEPTH = 254
STORED_DEPTH = 248  # the owned fields of a document of MOST_DEPTH levels included

MOST_STORED_BYTES = 3 * 512 * 1024  # 1.5 MiB, as much as the reference's store takes


# What decoding may make of a body. A list of empty items grows tenfold, and only the rules of the
# kind, which look at every item, come before the store says no.
MOST_DECODED_BYTES = 4 * 1024 * 1024
MOST_GROWN_BYTES = 2 * 1024 * 1024  # with defaults; owned fields may be dropped to store it


MOST_VALUES = 100_000  # lists and objects in a body; each takes some 500 bytes once it is decoded
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


class TooDeep(ValueError):
    """A document nested deeper than it could ever be written."""

    def __init__(self) -> None:
        super().__init__("exceeded max depth")


class TooLarge(ValueError):
    """An object of more bytes than the store takes."""

    def __init__(self) -> None:
        super().__init__("etcdserver: request is too large")


def _within_six(value: Any) -> Any:
    """As many levels around a value as STORED_DEPTH leaves; written out, which takes no time."""
    return ((((((value,),),),),),)


def _within_fourteen(value: Any) -> Any:
    return _within_six(((((((((value,),),),),),),),))


def bounded_json(value: Any, depth: int = MOST_DEPTH) -> bytes:
    """A value as JSON; raises TooDeep for more levels than MOST_DEPTH or STORED_DEPTH. The encoder
    counts them, so that this costs next to nothing beside the encoding."""
    deeper = _within_fourteen if depth == MOST_DEPTH else _within_six
    brackets = _ENCODER_DEPTH - depth
    try:
        return orjson.dumps(deeper(value))[brackets:-brackets]
    except orjson.JSONEncodeError as error:
        if "Recursion" in str(error):
            raise TooDeep from None
        raise


def check_values(raw: bytes, most: int = MOST_VALUES) -> None:
    """Raise OverSize for JSON with so many lists and objects that reading it would take hundreds of
    megabytes. Strings are left out only where there are too many brackets with them: that takes
    longer."""
    if len(raw) <= 2 * most or brackets(raw) <= most:
        return
    if brackets(_STRING.sub(b"", raw)) > most:
        raise OverSize(f"more than {most} lists and objects")


def brackets(raw: bytes) -> int:
    return raw.count(b"{") + raw.count(b"[")


def check_size(value: Any, most: int) -> None:
    """Raise TooDeep, or TooLarge for a value of more bytes."""
    if len(bounded_json(value)) > most:
        raise TooLarge
