"""Sets the defaults that the type tables declare, in place, on decoded objects."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, final

from fairlead.codec.types.model import Field, ListOf, MapOf, Presence, Struct, Type, structs

Fill = Callable[[Any], None]


def fill_defaults(struct: Struct, value: dict[str, Any]) -> None:
    """Set every unset field of `value` that has a declared default."""
    fill = filler(struct)
    if fill is not None:
        fill(value)


def filler(struct: Struct) -> Fill | None:
    """The filler of a struct, or None if no field below it has a default."""
    walkers = struct.walkers
    if "defaults" not in walkers:
        walkers["defaults"] = _Fields(struct) if _any(struct) else None
    fill: Fill | None = walkers["defaults"]
    return fill


def _any(root: Struct) -> bool:
    """Whether a default is declared anywhere below."""
    return any(
        field.default is not None for node in structs(root) for field in node.fields.values()
    )


class Filler:
    """A Fill for values of one type. Compiled: native classes call each other directly."""

    def __call__(self, value: Any) -> None:
        self.fill(value)

    def fill(self, value: Any) -> None:
        raise NotImplementedError


class _Called(Filler):
    """Wraps the filler that a struct brings itself."""

    def __init__(self, function: Fill) -> None:
        self.function = function

    def fill(self, value: Any) -> None:
        self.function(value)


class _Items(Filler):
    def __init__(self, inner: Filler) -> None:
        self.inner = inner

    def fill(self, value: Any) -> None:
        items: list[Any] = value
        for item in items:
            self.inner.fill(item)


class _Values(Filler):
    def __init__(self, inner: Filler) -> None:
        self.inner = inner

    def fill(self, value: Any) -> None:
        values: dict[str, Any] = value
        for item in values.values():
            self.inner.fill(item)


def _filler_for(node: Type) -> Filler | None:
    if isinstance(node, Struct):
        fill = filler(node)
        return fill if fill is None or isinstance(fill, Filler) else _Called(fill)
    if isinstance(node, (ListOf, MapOf)):
        inner = _filler_for(node.element)
        if inner is not None:
            return _Items(inner) if isinstance(node, ListOf) else _Values(inner)
    return None


def _fresh(default: Any) -> Any:
    """A copy of a default: the object may be changed later."""
    if isinstance(default, dict):
        return {name: _fresh(item) for name, item in default.items()}
    return [_fresh(item) for item in default] if isinstance(default, list) else default


@final
class _Constant:
    """A field with a default."""

    def __init__(self, field: Field) -> None:
        self.name = sys.intern(field.name)
        self.default: Any = field.default
        self.is_mutable = isinstance(field.default, (dict, list))
        self.is_distinct = field.presence in (Presence.DISTINCT, Presence.NULLABLE)


@final
class _Fields(Filler):
    """The filler of a struct."""

    def __init__(self, struct: Struct) -> None:
        self.struct = struct
        self.constants: list[_Constant] = []
        self.nested: dict[str, Filler] = {}
        self.ready = False

    def prepare(self) -> None:
        """Called on first use, because types may refer to themselves; in any thread."""
        fields = self.struct.fields.values()
        self.constants = [_Constant(field) for field in fields if field.default is not None]
        fillers = [(sys.intern(field.name), _filler_for(field.type)) for field in fields]
        self.nested = {name: inner for name, inner in fillers if inner is not None}
        self.ready = True

    def fill(self, value: Any) -> None:
        if not self.ready:
            self.prepare()
        fields: dict[str, Any] = value
        for constant in self.constants:
            current = fields.get(constant.name)
            if not current and (current is None or not constant.is_distinct):
                default = constant.default
                fields[constant.name] = _fresh(default) if constant.is_mutable else default
        nested = self.nested
        if len(nested) < len(fields):
            for name, inner in nested.items():
                child = fields.get(name)
                if child is not None:
                    inner.fill(child)
        else:
            for name, child in fields.items():
                filler_of = nested.get(name)
                if filler_of is not None and child is not None:
                    filler_of.fill(child)
