"""Parses request bodies: JSON and YAML to plain values, with the reference's error messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from fairlead.base.compiled import mypyc_attr
from fairlead.base.meter import SizeLimitExceeded
from fairlead.codec import json_syntax, yaml_reader
from fairlead.codec.types.decode import joined_path
from fairlead.codec.types.mismatch import Number, json_kind
from fairlead.codec.types.scalars import UNCOUNTED as UNCOUNTED

_MAX_SHOWN_LENGTH: Final = 30
_MAX_DIGITS: Final = 20  # of a 64-bit number, with its sign
_NO_NUMBER: Final = "json: cannot unmarshal number into Go value of type float64"
_SURROGATE_ESCAPE: Final = re.compile(rb"\\u[dD]")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


class BodyError(ValueError):
    """Bytes that are not a document of the declared format."""


def parse_json(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _parse_json_slowly(raw)


def _parse_json_slowly(raw: bytes) -> Any:
    """Parse documents that the fast parser refuses but JSON allows: invalid UTF-8 and lone
    surrogates, each replaced by U+FFFD. Raises `BodyError` with the reason for all others."""
    if _is_text(raw) and not _SURROGATE_ESCAPE.search(raw):
        raise BodyError(json_syntax.describe_json_error(raw) or _NO_NUMBER)
    try:
        value = json.loads(raw.decode("utf-8", "replace"), parse_int=_any_int)
        text = _SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False))
        return orjson.loads(text)
    except (ValueError, RecursionError):
        raise BodyError(json_syntax.describe_json_error(raw) or _NO_NUMBER) from None


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def parse_json_exactly(raw: bytes) -> Any:
    """Parse JSON with numbers that keep their notation; for the messages of a failed decode."""
    return json.loads(raw, parse_float=Number, parse_int=_exact_int)


def _exact_int(text: str) -> int | Number:
    value = _any_int(text)
    return value if -(2**63) <= value < 2**63 and isinstance(value, int) else Number(text)


def _any_int(text: str) -> int | float:
    return int(text) if len(text) <= _MAX_DIGITS else float(text)


def parse_yaml(raw: bytes) -> tuple[Any, list[str]]:
    """The first document of a YAML stream, and the keys that it repeats. JSON, which is valid YAML,
    is parsed as JSON: a hundred times faster."""
    if raw[:1] == b"{":
        try:
            value = orjson.loads(raw)
            if not duplicate_fields(raw, value):
                return value, []
        except (orjson.JSONDecodeError, TooDeep):
            pass  # the YAML reader reports the error
    try:
        return yaml_reader.load(raw)
    except yaml_reader.YamlError as error:
        raise BodyError(str(error)) from None


def not_an_object(value: Any) -> str:
    """The message for a document that is not an object where an object is required."""
    go_type = (
        'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string'
        ' "json:\\"kind,omitempty\\"" }'
    )
    return f"json: cannot unmarshal {json_kind(value)} into Go value of type {go_type}"


def summary(raw: bytes) -> str:
    """The beginning of a body, for messages: text if it looks like JSON, else hexadecimal."""
    shown, more = raw[:_MAX_SHOWN_LENGTH], " ..." if len(raw) > _MAX_SHOWN_LENGTH else ""
    if not raw:
        return "<empty>"
    text = shown.decode("utf-8", "replace") if raw[:1] == b"{" else shown.hex()
    return text + more


# Detection of duplicate keys in a JSON object, which parsers silently merge.

MAX_FOUND: Final = 100  # duplicates that are reported
_ESCAPE: Final = b"\\"
_COLON_ESCAPE: Final = b"\\u003"


def duplicate_fields(raw: bytes, parsed: Any, texts: int = UNCOUNTED) -> list[str]:
    """The paths of duplicate keys in document order; raises TooDeep. `texts` is the number of
    strings in the parsed value, if it has been counted.

    The common case needs two counts: without escapes each string has two quotes, and a merged
    duplicate key is missing in the parsed value. Otherwise the value is encoded again: every key
    has a colon, and colons inside strings occur on both sides unless the document escapes them.
    """
    if _ESCAPE not in raw:
        if texts == UNCOUNTED:
            texts = count_strings(parsed)
        if raw.count(b'"') == 2 * texts:
            return []
    encoded = bounded_json(parsed)
    if raw.count(b":") == encoded.count(b":") and _COLON_ESCAPE not in raw:
        return []
    return [
        path
        for path, _ in zip(_repeated(parse_with_duplicates(raw)), range(MAX_FOUND), strict=False)
    ]


@mypyc_attr(native_class=False)
class Pairs(list[tuple[str, Any]]):
    """A JSON object as written, including duplicate keys."""


def parse_with_duplicates(raw: bytes) -> Any:
    """A document with objects as `Pairs`; None if it cannot be parsed."""
    try:
        text = raw.decode("utf-8", "replace")
        return json.loads(text, object_pairs_hook=Pairs, parse_int=float)
    except (ValueError, RecursionError):
        return None


def _repeated(value: Any) -> Iterator[str]:
    """Walk the document in order, keeping the path to the current place."""
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
    """The steps from a value to its members, and whether a step repeats an earlier one."""
    if isinstance(value, Pairs):
        seen: set[str] = set()
        for key, item in value:
            yield key, item, key in seen
            seen.add(key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield f"[{index}]", item, False


# Counting the strings of a parsed document.

_MAX_COUNTED_DEPTH: Final = 100  # levels to count; `MAX_DEPTH` limits documents


def count_strings(value: Any, depth: int = 0) -> int:
    """The number of strings in a value, including field names; UNCOUNTED if it is too deep."""
    if depth > _MAX_COUNTED_DEPTH:
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
            inner = count_strings(item, depth + 1)
            if inner < 0:
                return UNCOUNTED
            count += inner
    return count


# Limits on the size and depth of a document, in any format.

# The encoder supports 254 levels. Wrappers of an object (lists, tables, events, reviews) and its
# owned fields need some of them.
MAX_DEPTH: Final = 240
_ENCODER_DEPTH: Final = 254
STORED_DEPTH: Final = 248  # of a document of MAX_DEPTH levels including its owned fields

MAX_STORED_BYTES: Final = 3 * 512 * 1024  # 1.5 MiB, the limit of the reference's store


# The size of a decoded body. A list of empty items grows tenfold when decoded, and the validation
# of the kind, which visits every item, runs before the store refuses the object.
MAX_DECODED_BYTES: Final = 4 * 1024 * 1024
MAX_GROWN_BYTES: Final = 2 * 1024 * 1024  # with defaults; owned fields may be dropped to store it


MAX_VALUES: Final = 100_000  # lists and objects in a body; each takes about 500 bytes when decoded
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)


class TooDeep(ValueError):
    """A document nested too deeply to be encoded."""

    def __init__(self) -> None:
        super().__init__("exceeded max depth")


class TooLarge(ValueError):
    """An object of more bytes than the store accepts."""

    def __init__(self) -> None:
        super().__init__("etcdserver: request is too large")


def _nest_six(value: Any) -> Any:
    """Wrap a value in as many levels as STORED_DEPTH leaves to the encoder; a literal list is the
    cheapest way."""
    return ((((((value,),),),),),)


def _within_fourteen(value: Any) -> Any:
    return _nest_six(((((((((value,),),),),),),),))


def bounded_json(value: Any, depth: int = MAX_DEPTH) -> bytes:
    """A value as JSON; raises TooDeep for more levels than MAX_DEPTH or STORED_DEPTH. The encoder
    counts the levels, so the check is nearly free."""
    deeper = _within_fourteen if depth == MAX_DEPTH else _nest_six
    brackets = _ENCODER_DEPTH - depth
    try:
        return orjson.dumps(deeper(value))[brackets:-brackets]
    except orjson.JSONEncodeError as error:
        if "Recursion" in str(error):
            raise TooDeep from None
        raise


def check_values(raw: bytes, maximum: int = MAX_VALUES) -> None:
    """Raise OverSize for JSON with so many lists and objects that parsing it would take hundreds of
    megabytes. Strings are excluded only if there are too many brackets including them, because
    excluding them takes longer."""
    if len(raw) <= 2 * maximum or brackets(raw) <= maximum:
        return
    if brackets(_STRING.sub(b"", raw)) > maximum:
        raise SizeLimitExceeded(f"more than {maximum} lists and objects")


def brackets(raw: bytes) -> int:
    return raw.count(b"{") + raw.count(b"[")


def check_size(value: Any, maximum: int) -> None:
    """Raise TooDeep, or TooLarge for a value of more than `maximum` bytes."""
    if len(bounded_json(value)) > maximum:
        raise TooLarge
