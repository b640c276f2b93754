"""Converts data to values by declared type: numbers to doubles, text to bytes and times."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable
from typing import Any

from fairlead.codec.cel.errors import EvaluationError
from fairlead.codec.cel.timestamps import parse_date, parse_duration, parse_timestamp
from fairlead.codec.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    URL,
    LazyType,
    ListType,
    MapType,
    ObjectType,
    OptionalType,
    Type,
    TypeOf,
)
from fairlead.codec.cel.urls import Url
from fairlead.codec.cel.values import NONE, Duration, Optional, Timestamp, TypeName, UInt

Reader = Callable[[Any], Any]


class _Always:
    """A class without instances: a reader with it converts every value."""


CLASSES: dict[Type, type] = {
    BOOL: bool,
    INT: int,
    UINT: UInt,
    DOUBLE: float,
    STRING: str,
    BYTES: bytes,
    TIMESTAMP: Timestamp,
    DURATION: Duration,
    NULL: type(None),
    URL: Url,
}


def class_of(type_: Type) -> type | None:
    """The Python class of the values of a type; None if there are several."""
    if isinstance(type_, ListType):
        return list
    if isinstance(type_, MapType | ObjectType):
        return dict
    if isinstance(type_, TypeOf):
        return TypeName
    if isinstance(type_, OptionalType):
        return Optional
    return CLASSES.get(type_)


def reader(type_: Type) -> tuple[type | None, Reader]:
    """The reader of data of a declared type: values of the class are used as they are (None: all
    values), the function converts all others."""
    if isinstance(type_, ListType):
        return _list_reader(type_)
    if isinstance(type_, MapType):
        return _map_reader(type_)
    if isinstance(type_, LazyType):
        return None, _refuse("object")
    if isinstance(type_, ObjectType):
        return dict, _refuse("object")
    if isinstance(type_, OptionalType):
        return _optional_reader(type_)
    kind = CLASSES.get(type_)
    return kind, _READERS.get(type_, _refuse(str(type_)))


def _list_reader(type_: ListType) -> tuple[type, Reader]:
    kind, read = reader(type_.element)
    if not _converts(type_.element):
        return list, _refuse("list")

    def read_all(data: Any) -> Any:
        if type(data) is not list:
            return _raise_invalid("list", data)
        return [item if type(item) is kind or item is None else read(item) for item in data]

    return _Always, read_all


def _map_reader(type_: MapType) -> tuple[type, Reader]:
    kind, read = reader(type_.value)
    if not _converts(type_.value):
        return dict, _refuse("map")

    def read_all(data: Any) -> Any:
        if type(data) is not dict:
            return _raise_invalid("map", data)
        return {
            key: value if type(value) is kind or value is None else read(value)
            for key, value in data.items()
        }

    return _Always, read_all


def _optional_reader(type_: OptionalType) -> tuple[type, Reader]:
    """The data of an optional is None if it is absent."""
    kind, read = reader(type_.of)

    def read_present(data: Any) -> Optional:
        if data is None:
            return NONE
        is_read = kind is None or type(data) is kind
        return Optional(data if is_read else read(data))

    return _Always, read_present


def _converts(type_: Type) -> bool:
    """Whether values of this type differ from their data; fields of objects convert on access."""
    if isinstance(type_, ListType):
        return _converts(type_.element)
    if isinstance(type_, MapType):
        return _converts(type_.value)
    return type_ in _READERS


def _raise_invalid(expected: str, data: Any) -> Any:
    raise EvaluationError(f"invalid data, expected {expected}, got {type(data).__name__}")


def _refuse(expected: str) -> Reader:
    return lambda data: _raise_invalid(expected, data)


def _text(data: Any) -> str:
    return data if type(data) is str else _raise_invalid("string", data)


def _read_double(data: Any) -> float:
    return float(data) if type(data) in (int, UInt) else _raise_invalid("double", data)


def _read_bytes(data: Any) -> bytes:
    try:
        return b64decode(_text(data).replace("\r", "").replace("\n", ""), validate=True)
    except (Base64Error, ValueError):
        raise EvaluationError(f"byte format strings must be base64 encoded: {data}") from None


def _read_timestamp(data: Any) -> Timestamp:
    text = _text(data)
    try:
        return parse_date(text) if len(text) == 10 else parse_timestamp(text)
    except ValueError as error:
        raise EvaluationError(f"Invalid date {text}: {error}") from None


def _read_duration(data: Any) -> Duration:
    text = _text(data)
    try:
        return parse_duration(text)
    except ValueError as error:
        raise EvaluationError(f"Invalid duration {text}: {error}") from None


_READERS: dict[Type, Reader] = {
    DOUBLE: _read_double,
    BYTES: _read_bytes,
    TIMESTAMP: _read_timestamp,
    DURATION: _read_duration,
}
