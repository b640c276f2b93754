"""Parsing request bodies: JSON and YAML to plain values, with errors in the reference's words."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from fairlead.codec.json_syntax import describe_json_error
from fairlead.codec.limits import TooDeep
from fairlead.codec.repeated_keys import duplicate_fields
from fairlead.codec.types.mismatch import Number, json_kind

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
