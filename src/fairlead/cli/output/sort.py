"""`--sort-by`: sorts objects by the values of a field."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fairlead.cli.errors import CommandFailed
from fairlead.cli.output.jsonpath import JsonPathError, parse, relaxed
from fairlead.codec.types.quantity import QuantityError, quantity

Object = dict[str, Any]
_PIECES = re.compile(r"[0-9]+|[^0-9]")


class Order:
    """Sorts by the value that an expression finds; objects without a value come first."""

    def __init__(self, field: str) -> None:
        """Raises CommandFailed."""
        self._field = field
        try:
            self._path = parse(relaxed(field))
        except JsonPathError as error:
            raise CommandFailed(f"error: {error}") from None

    def sort(self, rows: list[Any], object_of: Callable[[Any], Object]) -> None:
        """Sort in place; raises CommandFailed."""
        keys = [self._key(object_of(row)) for row in rows]
        if rows and not any(keys):
            raise CommandFailed(f"error: --sort-by: no object has the field {self._text}")
        order = sorted(range(len(rows)), key=lambda index: keys[index])
        rows[:] = [rows[index] for index in order]

    @property
    def _text(self) -> str:
        return relaxed(self._field)

    def _key(self, value: Object) -> tuple[Any, ...]:
        try:
            values = self._path.find(value)
        except JsonPathError as error:
            raise CommandFailed(f"error: {error}") from None
        if not values:
            return ()
        first = values[0]
        if isinstance(first, dict | list):
            kind = "map" if isinstance(first, dict) else "list"
            raise CommandFailed(f"error: --sort-by: {self._text} is a {kind}, which has no order")
        return _sortable(first)


def _sortable(value: Any) -> tuple[Any, ...]:
    if value is None:
        return (0,)
    if isinstance(value, bool | int | float):
        return (1, value)
    amount = _amount(value)
    return (2, amount) if amount is not None else (3, _natural(value))


def _amount(text: str) -> Any:
    """The value of a quantity such as 100m or 2Gi; None if it is not a quantity."""
    if not text[:1] or text[0] not in "0123456789+-.":
        return None
    try:
        return quantity(text)
    except QuantityError:
        return None


def _natural(text: str) -> list[tuple[Any, ...]]:
    """Key of a natural sort: web-9 before web-10."""
    pieces: list[tuple[Any, ...]] = []
    for piece in _PIECES.findall(text):
        digits = piece.lstrip("0")
        is_number = piece[0] in "0123456789"
        pieces.append((ord("0"), len(digits), digits, len(piece)) if is_number else (ord(piece),))
    return pieces
