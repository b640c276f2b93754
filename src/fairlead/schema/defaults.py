"""Filling in the defaults that the tables declare, in place, on decoded objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.schema.model import ListOf, MapOf, Presence, Struct, Type, structs

Fill = Callable[[Any], None]


def fill_defaults(struct: Struct, value: dict[str, Any]) -> None:
    """Set every unset field of `value` whose default is declared."""
    fill = filler(struct)
    if fill is not None:
        fill(value)


def filler(struct: Struct) -> Fill | None:
    """The compiled filler of a struct, or None when nothing below it has a default."""
    walkers = struct.walkers
    if "defaults" not in walkers:
        walkers["defaults"] = _compile(struct) if _any(struct) else None
    found: Fill | None = walkers["defaults"]
    return found


def _any(root: Struct) -> bool:
    """Whether a default is declared anywhere below."""
    return any(
        field.default is not None for node in structs(root) for field in node.fields.values()
    )


def _filler_for(node: Type) -> Fill | None:
    if isinstance(node, Struct):
        return filler(node)
    if isinstance(node, (ListOf, MapOf)):
        inner = _filler_for(node.element)
        if inner is not None:
            return _each_item(inner) if isinstance(node, ListOf) else _each_value(inner)
    return None


def _each_item(inner: Fill) -> Fill:
    def fill(value: Any) -> None:
        for item in value:
            inner(item)

    return fill


def _each_value(inner: Fill) -> Fill:
    def fill(value: Any) -> None:
        for item in value.values():
            inner(item)

    return fill


def _fresh(default: Any) -> Any:
    """A default that nobody else has."""
    if isinstance(default, dict):
        return {name: _fresh(item) for name, item in default.items()}
    return [_fresh(item) for item in default] if isinstance(default, list) else default


def _compile(struct: Struct) -> Fill:
    constants: list[tuple[str, Any, bool, bool]] = []
    nested: list[tuple[str, Fill]] = []
    ready = False

    def prepare() -> None:
        for field in struct.fields.values():
            if field.default is not None:
                mutable = isinstance(field.default, (dict, list))
                distinct = field.presence is Presence.DISTINCT
                constants.append((field.name, field.default, mutable, distinct))
            inner = _filler_for(field.type)
            if inner is not None:
                nested.append((field.name, inner))

    def fill(value: Any) -> None:
        nonlocal ready
        if not ready:  # on first use, since types may refer to themselves
            prepare()
            ready = True
        for name, default, mutable, distinct in constants:
            current = value.get(name)
            if not current and (current is None or not distinct):
                value[name] = _fresh(default) if mutable else default
        for name, inner in nested:
            if name in value:
                child = value[name]
                if child is not None:
                    inner(child)

    return fill
