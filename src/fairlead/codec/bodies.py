"""Parsing request bodies: JSON and YAML to plain values, with errors in the reference's words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from fairlead.base.budget import OverSize
from fairlead.base.compiled import mypyc_attr
from fairlead.codec.json_syntax import describe_json_error
from fairlead.codec.types.decode import joined_path
from fairlead.codec.types.mismatch import Number, json_kind
from fairlead.codec.types.scalars import UNCOUNTED as UNCOUNTED

_SHOWN = 30
_MOST_DIGITS = 20  # of a number of 64 bits, with its sign
_NO_NUMBER = "json: cannot unmarshal number into Go value of type float64"
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class BodyError(ValueError):
    """Bytes that are not a document of the format they claim to be."""


def parse_json(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _parse_json_slowly(raw)


def _parse_json_slowly(raw: bytes) -> Any:
    """Read what the fast parser refuses but the format allows: bad UTF-8 and lone surrogates, each
    replaced by U+FFFD. Say what is wrong with anything else."""
    if _is_text(raw) and not _SURROGATE_ESCAPE.search(raw):
        raise BodyError(describe_json_error(raw) or _NO_NUMBER)
    try:
        value = json.loads(raw.decode("utf-8", "replace"), parse_int=_any_int)
        text = _SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False))
        return orjson.loads(text)
    except (ValueError, RecursionError):
        raise BodyError(describe_json_error(raw) or _NO_NUMBER) from None


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def parse_json_exactly(raw: bytes) -> Any:
    """The same, with numbers that remember their text; for the messages of a failed decode."""
    return json.loads(raw, parse_float=Number, parse_int=_exact_int)


def _exact_int(text: str) -> int | Number:
    value = _any_int(text)
    return value if -(2**63) <= value < 2**63 and isinstance(value, int) else Number(text)


def _any_int(text: str) -> int | float:
    return int(text) if len(text) <= _MOST_DIGITS else float(text)


def parse_yaml(raw: bytes) -> tuple[Any, list[str]]:
    """The first document of a YAML stream, and the keys that it repeats. JSON, which is YAML too,
    is read a hundred times faster as what it is."""
    if raw[:1] == b"{":
        try:
            value = orjson.loads(raw)
            if not duplicate_fields(raw, value):
                return value, []
        except (orjson.JSONDecodeError, TooDeep):
            pass  # the YAML reader says what is wrong
    from fairlead.codec.yaml_reader import YamlError, load

    try:
        return load(raw)
    except YamlError as error:
        raise BodyError(str(error)) from None


def not_an_object(value: Any) -> str:
    """What is said of a document that is no object where one was wanted."""
    wanted = (
        'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string'
        ' "json:\\"kind,omitempty\\"" }'
    )
    return f"json: cannot unmarshal {json_kind(value)} into Go value of type {wanted}"


def summary(raw: bytes) -> str:
    """The beginning of a body, for messages: text if it looks like JSON, hexadecimal if not."""
    shown, more = raw[:_SHOWN], " ..." if len(raw) > _SHOWN else ""
    if not raw:
        return "<empty>"
    text = shown.decode("utf-8", "replace") if raw[:1] == b"{" else shown.hex()
    return text + more


# Finding keys that stand twice in one JSON object, which parsers silently merge.

MOST_FOUND = 100  # more than that are not told
_ESCAPE = b"\\"
_COLON_ESCAPE = b"\\u003"


def duplicate_fields(raw: bytes, parsed: Any, texts: int = UNCOUNTED) -> list[str]:
    """The paths of repeated keys in the order of the document; raises TooDeep. `texts` are those of
    the parsed value, where they have been counted.

    The common case costs two counts: where nothing is escaped each text has two quotes, and a key
    that was merged away is missing in the parsed value. Otherwise it is encoded again: every key
    has a colon, and colons in texts count alike on both sides unless the document escapes them.
    """
    if _ESCAPE not in raw:
        if texts == UNCOUNTED:
            texts = texts_in(parsed)
        if raw.count(b'"') == 2 * texts:
            return []
    encoded = bounded_json(parsed)
    if raw.count(b":") == encoded.count(b":") and _COLON_ESCAPE not in raw:
        return []
    return [path for path, _ in zip(_repeated(as_written(raw)), range(MOST_FOUND), strict=False)]


@mypyc_attr(native_class=False)
class Pairs(list[tuple[str, Any]]):
    """An object as it was written, with keys that repeat."""


def as_written(raw: bytes) -> Any:
    """A document whose objects are Pairs; None for what cannot be read."""
    try:
        text = raw.decode("utf-8", "replace")
        return json.loads(text, object_pairs_hook=Pairs, parse_int=float)
    except (ValueError, RecursionError):
        return None


def _repeated(value: Any) -> Iterator[str]:
    """Walk the document in its order, with the path to the present place at hand."""
    path: list[str] = []
    open_: list[Iterator[tuple[str, Any, bool]]] = [_members(value)]
    while open_:
        for step, item, again in open_[-1]:
            if again:
                yield joined_path(path, step)
            if isinstance(item, list) and item:
                path.append(step)
                open_.append(_members(item))
                break
        else:
            open_.pop()
            if path:
                path.pop()


def _members(value: Any) -> Iterator[tuple[str, Any, bool]]:
    """The steps from a value to those in it, and whether a step was taken before."""
    if isinstance(value, Pairs):
        seen: set[str] = set()
        for key, item in value:
            yield key, item, key in seen
            seen.add(key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield f"[{index}]", item, False


# Counting the texts of a parsed document.

_DEEPEST: Final = 100  # levels; how deep a document may be at all is found out otherwise


def texts_in(value: Any, depth: int = 0) -> int:
    """How many texts a value consists of, names of fields included; UNCOUNTED if it is deep."""
    if depth > _DEEPEST:
        return UNCOUNTED
    if isinstance(value, str):
        return 1
    items: Iterable[Any] = ()
    count = 0
    if isinstance(value, dict):
        items, count = value.values(), len(value)
    elif isinstance(value, list):
        items = value
    for item in items:
        if isinstance(item, str):
            count += 1
        elif isinstance(item, (dict, list)):
            inner = texts_in(item, depth + 1)
            if inner < 0:
                return UNCOUNTED
            count += inner
    return count


# How large and how deep a document may be, whatever format it comes in.

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
