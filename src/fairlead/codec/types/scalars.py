"""Decodes scalars from parsed JSON to their stored form."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any, Final

from fairlead.codec.types import quantity, times
from fairlead.codec.types.mismatch import DecodeError, Number, mismatch

# Takes a value and the list to add names of unknown fields to; returns the value to store.
Decode = Callable[[Any, list[str]], Any]


UNCOUNTED: Final = -1


class DecodeNotes:
    """Collected by decoders: the names of unknown fields, and the number of strings in the value,
    including field names. `uncounted`: the decoder did not visit all of the value."""

    def __init__(self, unknown: list[str]) -> None:
        self.unknown = unknown
        self.texts = 0
        self.uncounted = False


class Decoder:
    """A Decode for values of one type. Compiled: native classes call each other directly."""

    def __call__(self, value: Any, unknown: list[str]) -> Any:
        return self.decode(value, DecodeNotes(unknown))

    def decode(self, value: Any, notes: DecodeNotes) -> Any:
        raise NotImplementedError


class _String(Decoder):
    def decode(self, value: Any, notes: DecodeNotes) -> Any:
        if type(value) is str:
            notes.texts += 1
            return value
        raise mismatch(value, "string")


class _Bool(Decoder):
    def decode(self, value: Any, notes: DecodeNotes) -> Any:
        if type(value) is bool:
            return value
        raise mismatch(value, "bool")


_INT_LIMITS: Final[dict[str, int]] = {"int32": 2**31, "int64": 2**63}


class _Int(Decoder):
    def __init__(self, name: str, form: str = "scalar") -> None:
        self.name = name
        self.form = form
        self.limit = _INT_LIMITS[name]

    def decode(self, value: Any, notes: DecodeNotes) -> Any:
        if type(value) is int and -self.limit <= value < self.limit:
            return value
        if isinstance(value, (int, float)) and type(value) is not bool:
            shown = value.text if isinstance(value, Number) else value
            error = DecodeError(f"number {shown} of type {self.name}", wants_place=True)
            if isinstance(value, float):
                error.value, error.form = value, self.form
            raise error
        raise mismatch(value, self.name, self.form)


class _Double(Decoder):
    def decode(self, value: Any, notes: DecodeNotes) -> Any:
        if isinstance(value, (int, float)) and type(value) is not bool:
            return value
        raise mismatch(value, "float64")


class _Bytes(Decoder):
    def decode(self, value: Any, notes: DecodeNotes) -> Any:
        if type(value) is list:
            return base64.b64encode(bytes(_byte(item) for item in value)).decode()
        if type(value) is not str:
            raise mismatch(value, "[]uint8", "slice")
        notes.texts += 1
        try:
            return canonical_base64(value)
        except Base64Error as error:
            raise DecodeError(str(error)) from None


def _byte(value: Any) -> int:
    """An item of bytes that are written as a list of numbers."""
    if value is None:
        return 0
    if type(value) is int and 0 <= value < 256:
        return value
    if isinstance(value, (int, float)) and type(value) is not bool:
        shown = value.text if isinstance(value, Number) else value
        raise DecodeError(f"number {shown} of type uint8", wants_place=True)
    raise mismatch(value, "uint8")


class _Time(Decoder):
    def decode(self, value: Any, notes: DecodeNotes) -> Any:
        if type(value) is not str:
            raise mismatch(value, "string", "text")
        notes.texts += 1
        try:
            return self.canonical(value)
        except times.TimeError as error:
            raise DecodeError(str(error)) from None

    def canonical(self, text: str) -> str:
        return times.canonical_time(text)


class _MicroTime(_Time):
    def canonical(self, text: str) -> str:
        return times.canonical_micro_time(text)


class _Quantity(Decoder):
    def decode(self, value: Any, notes: DecodeNotes) -> Any:
        if type(value) is not str:
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise DecodeError(quantity.FORMAT_ERROR)
            value = value.text if isinstance(value, Number) else str(value)
        else:
            notes.texts += 1
        try:
            return quantity.canonical(value)
        except quantity.QuantityError as error:
            raise DecodeError(str(error)) from None


class _IntOrString(_Int):
    def decode(self, value: Any, notes: DecodeNotes) -> Any:
        if type(value) is str:
            notes.texts += 1
            return value
        return super().decode(value, notes)


class _Raw(Decoder):
    def decode(self, value: Any, notes: DecodeNotes) -> Any:
        notes.uncounted = True
        return value


SCALARS: Final[dict[str, Decoder]] = {
    "string": _String(),
    "bool": _Bool(),
    "int32": _Int("int32"),
    "int64": _Int("int64"),
    "double": _Double(),
    "bytes": _Bytes(),
    "Time": _Time(),
    "MicroTime": _MicroTime(),
    "Duration": _String(),
    "Quantity": _Quantity(),
    "IntOrString": _IntOrString("int32", "text"),
    "raw": _Raw(),
    "any": _Raw(),
}

SCALAR_ZEROS: Final[dict[str, Any]] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "double": 0,
    "Quantity": "0",
    "IntOrString": 0,
}


# Base64 text as JSON carries bytes: ignores line breaks, and each value has one canonical text.

_ALPHABET: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


class Base64Error(ValueError):
    """Text that is not base64; the message gives the place of the first error."""


def canonical_base64(text: str) -> str:
    clean = text
    if "\n" in text or "\r" in text:
        clean = text.replace("\n", "").replace("\r", "")
    try:
        base64.b64decode(clean, validate=True)
    except (binascii.Error, ValueError):
        raise Base64Error(f"illegal base64 data at input byte {_error_offset(text)}") from None
    if clean.endswith("="):  # unused bits at the end may be set, but are stored as zero
        tail = base64.b64encode(base64.b64decode(clean[-4:])).decode()
        clean = clean[:-4] + tail
    return clean


def _error_offset(text: str) -> int:
    """The offset at which a decoder that reads four characters at a time fails."""
    read = start = 0
    for index, letter in enumerate(text):
        if letter in "\r\n":
            continue
        if letter == "=":
            return _wrong_padding(text, index, read % 4)
        if letter not in _ALPHABET:
            return index
        if read % 4 == 0:
            start = index
        read += 1
    return start


def _wrong_padding(text: str, index: int, place: int) -> int:
    if place < 2:
        return index
    rest = [position for position in range(index + 1, len(text)) if text[position] not in "\r\n"]
    if place == 2:
        if not rest:
            return len(text)
        if text[rest[0]] != "=":
            return rest[0]
        rest = rest[1:]
    return rest[0] if rest else len(text)
