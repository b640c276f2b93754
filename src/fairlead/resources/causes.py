"""Collects the errors in an object, field by field, in the reference's wording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from fairlead.base.errors import (
    MAX_CAUSE_BYTES,
    MAX_CAUSE_LENGTH,
    MAX_CAUSES,
    MAX_FIELD_LENGTH,
    Cause,
    ResourceRef,
    StatusError,
    TooManyCauses,
    bad_request,
    clipped,
    not_found,
)
from fairlead.base.quotes import quote as quote
from fairlead.codec.types.names import path_segment
from fairlead.resources import go_notation
from fairlead.resources.gates import Gates

_UNKNOWN: Any = object()


class GoValue(str):
    """A value that messages print verbatim, for values that are not printed as JSON scalars. Later
    releases print `json`; without it, the text is converted, with the values behind its addresses
    from `pointees`."""

    json: str
    pointees: tuple[go_notation.Pointee, ...]

    def __new__(
        cls, text: str, json: Any = _UNKNOWN, pointees: tuple[go_notation.Pointee, ...] = ()
    ) -> GoValue:
        value = super().__new__(cls, text)
        value.json = "" if json is _UNKNOWN else escaped_json(json)
        value.pointees = pointees
        return value


_ADDRESS = "0xc000000000"  # arbitrary; clients cannot rely on it


def go_pointer(kind: str, value: Any) -> GoValue:
    """A pointer as messages print it: it only shows whether the value is set."""
    if value is None:
        return GoValue(f"(*{kind})(nil)")
    return GoValue(f"(*{kind})({_ADDRESS})", pointees=(go_notation.Pointee(kind, value),))


def go_composite(kind: str, parts: Mapping[str, str] | Iterable[str]) -> GoValue:
    """A struct, a map or a list as messages print it; the parts are formatted already."""
    if isinstance(parts, Mapping):
        texts = list(parts.values())
        inner = ", ".join(f"{name}:{text}" for name, text in parts.items())
    else:
        texts = list(parts)
        inner = ", ".join(texts)
    pointees = (pointee for text in texts if isinstance(text, GoValue) for pointee in text.pointees)
    return GoValue(f"{kind}{{{inner}}}", pointees=tuple(pointees))


def show(value: Any) -> str:
    """The form of a value in messages."""
    if isinstance(value, GoValue):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if value is None:
        return '"null"'
    if isinstance(value, (dict, list)):
        return orjson.dumps(value).decode()
    return str(value)


def show_json(value: Any) -> str:
    """The form of a value in messages of later releases."""
    if isinstance(value, GoValue):
        return value.json or _converted(value)
    if isinstance(value, (bool, str)):
        return show(value)
    if value is None:
        return "null"
    return escaped_json(value) if isinstance(value, (dict, list)) else str(value)


def _converted(value: GoValue) -> str:
    try:
        return escaped_json(go_notation.to_value(value, value.pointees))
    except ValueError:
        return str(value)


def escaped_json(value: Any, option: int = 0) -> str:
    """JSON with the characters escaped that are special in HTML, as the reference writes it."""
    return html_escaped(orjson.dumps(value, option=option).decode())


def html_escaped(text: str) -> str:
    return text.translate(_HTML)


_HTML = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


class Causes(list[Cause]):
    """The causes found so far. Paths are dotted: `spec.containers[0].name`. Raises TooManyCauses at
    the limit of a response, so that no check runs on for long after that."""

    # Class attributes: one instance is made for every write, and most stay empty.
    _remaining_bytes = MAX_CAUSE_BYTES
    sound: object = None  # metadata whose contents passed the checks
    has_later_wording = False  # in the words of later releases
    _show = staticmethod(show)

    def append(self, cause: Cause) -> None:
        text, field = (
            clipped(cause.message, MAX_CAUSE_LENGTH),
            clipped(cause.field, MAX_FIELD_LENGTH),
        )
        super().append(Cause(cause.reason, text, field))
        self._remaining_bytes -= len(text) + len(field)
        if len(self) >= MAX_CAUSES or self._remaining_bytes <= 0:
            raise TooManyCauses(self)

    def add(self, reason: str, field: str, text: str, detail: str = "") -> None:
        """Add a cause of any reason; `text` is the error, `detail` explains it."""
        self.append(Cause(reason, f"{text}: {detail}" if detail else text, field))

    def show(self, value: Any) -> str:
        """The form of a value in messages."""
        return self._show(value)

    def required(self, field: str, detail: str = "") -> None:
        self.add("FieldValueRequired", field, "Required value", detail)

    def invalid(self, field: str, value: Any, detail: str) -> None:
        self.add("FieldValueInvalid", field, f"Invalid value: {self._show(value)}", detail)

    def invalid_each(self, field: str, value: Any, details: Iterable[str]) -> None:
        """Add one cause for each result of a syntax check."""
        for detail in details:
            self.invalid(field, value, detail)

    def unsupported(self, field: str, value: Any, supported: Sequence[str]) -> None:
        values = ", ".join(quote(text) for text in supported)
        detail = f"supported values: {values}" if supported else ""
        self.add("FieldValueNotSupported", field, f"Unsupported value: {self._show(value)}", detail)

    def duplicate(self, field: str, value: Any) -> None:
        self.add("FieldValueDuplicate", field, f"Duplicate value: {self._show(value)}")

    def forbidden(self, field: str, detail: str) -> None:
        self.add("FieldValueForbidden", field, "Forbidden", detail)

    def too_long(self, field: str, limit: int) -> None:
        self.add("FieldValueTooLong", field, "Too long", f"must have at most {limit} bytes")

    def too_many(self, field: str, count: int, limit: int) -> None:
        detail = f"must have at most {limit} items"
        self.add("FieldValueTooMany", field, f"Too many: {count}", detail)

    def not_found(self, field: str, value: Any, detail: str = "") -> None:
        self.add("FieldValueNotFound", field, f"Not found: {self._show(value)}", detail)

    def internal(self, field: str, detail: str) -> None:
        self.add("InternalError", field, "Internal error", detail)


class LaterCauses(Causes):
    """The causes in the words of releases with the gate LaterWording."""

    has_later_wording = True
    _show = staticmethod(show_json)

    def add(self, reason: str, field: str, text: str, detail: str = "") -> None:
        super().add(reason, field, text, getattr(detail, "later", detail))

    def too_long(self, field: str, limit: int) -> None:
        noun = "byte" if limit == 1 else "bytes"
        self.add("FieldValueTooLong", field, "Too long", f"may not be more than {limit} {noun}")

    def too_many(self, field: str, count: int, limit: int) -> None:
        detail = f"must have at most {limit} {'item' if limit == 1 else 'items'}"
        self.add("FieldValueTooMany", field, f"Too many: {count}", detail)


def new_causes(gates: Gates) -> Causes:
    return LaterCauses() if gates["LaterWording"] else Causes()


# Errors about objects that are not stored


def absent(ref: ResourceRef) -> StatusError:
    """404, or 400 if the name is not valid for any object."""
    if not ref.name:
        return bad_request("Name parameter required.")
    if errors := path_segment(ref.name):
        return bad_request(f"Name parameter invalid: {quote(ref.name)}: {';'.join(errors)}")
    return not_found(ref)
