"""Whether a value is of its type, to the extent that apply insists on it, and why not.

Apply refuses unknown fields, values of another type and list items that cannot be told apart,
whatever the field validation level. The texts are the reference's, which print values in the
notation of its language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fairlead.patching.field_sets import element_text, value_element
from fairlead.patching.shapes import Index, Untrackable, item_element, item_index, key_default
from fairlead.schema.model import ListOf, MapOf, Scalar, Struct, Type
from fairlead.schema.remembering import ShapeMemory
from fairlead.schema.wording import plain_text, source_text, type_text

_Path = tuple[Any, str] | None
"""A path as its last step and the path before it; put into words only when there is a problem."""
_Found = list[tuple[_Path, str]]


def problems(struct: Struct, value: Any) -> list[str]:
    """Everything wrong with an object, each with its path; empty when it is of the type."""
    found: _Found = []
    _struct(struct, value, None, found)
    return [f"{_text(path)}: {why}" if path else why for path, why in found]


def explained(found: list[str]) -> str:
    """The problems as one text."""
    return found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])


def _text(path: _Path) -> str:
    return _text(path[0]) + element_text(path[1]) if path else ""


def _value(kind: Type, value: Any, path: _Path, found: _Found) -> None:
    if value is not None:
        _CHECKS[type(kind)](kind, value, path, found)


_Part = tuple[str, str, Type]
"""A field to look into: its name, its step and its type."""


class _Plan:
    """What is known of a struct's fields, and, by the names and classes of those that an object
    has, which of them are to be looked into."""

    __slots__ = ("fields", "parts")

    def __init__(self, kind: Struct) -> None:
        self.fields = {
            name: (_accepted(item.type), item.type) for name, item in kind.fields.items()
        }
        self.parts: ShapeMemory[list[_Part]] = ShapeMemory()


_KEPT = 20_000
_plans: dict[Struct, _Plan] = {}
_indexes: dict[ListOf, Index] = {}


def _plan(kind: Struct) -> _Plan:
    if len(_plans) >= _KEPT:
        _plans.clear()
        _indexes.clear()
    made = _plans[kind] = _Plan(kind)
    return made


def _struct(kind: Struct, value: Any, path: _Path, found: _Found) -> None:
    if not isinstance(value, dict):
        found.append((path, f"expected map, got &{{{plain_text(value)}}}"))
        return
    plan = _plans.get(kind) or _plan(kind)
    shape = (*value, *map(type, value.values()))
    parts = plan.parts.get(shape)
    if parts is not None:
        for name, element, below in parts:
            _CHECKS[type(below)](below, value[name], (path, element), found)
        return
    parts = []
    for name, child in value.items():
        known = plan.fields.get(name)
        if known is not None:
            if child is not None and type(child) not in known[0]:
                parts.append((name, "f:" + name, known[1]))
                _value(known[1], child, (path, "f:" + name), found)
        elif not kind.preserve_unknown:
            found.append(((path, "f:" + name), "field not declared in schema"))
    if plan.fields.keys() >= value.keys():
        plan.parts.keep(shape, parts)


def _map(kind: MapOf, value: Any, path: _Path, found: _Found) -> None:
    if not isinstance(value, dict):
        found.append((path, f"expected map, got &{{{plain_text(value)}}}"))
        return
    accepted = _accepted(kind.element)
    for name, child in value.items():
        if type(child) not in accepted:
            _value(kind.element, child, (path, "f:" + name), found)


def _list(kind: ListOf, value: Any, path: _Path, found: _Found) -> None:
    if not isinstance(value, list):
        found.append((path, f"expected list, got &{{{plain_text(value)}}}"))
        return
    accepted = _accepted(kind.element)
    if kind.kind == "atomic":
        for index, child in enumerate(value):
            if type(child) not in accepted:
                _value(kind.element, child, (path, f"i:{index}"), found)
        return
    for element, child in _named(kind, value, path, found):
        if type(child) not in accepted:
            _value(kind.element, child, (path, element), found)


def _named(kind: ListOf, value: list[Any], path: _Path, found: _Found) -> Iterable[tuple[str, Any]]:
    """The items of a list by their names; what is wrong with these is noted when it is met, and an
    item that has none is the last."""
    index = _indexes.get(kind)
    if index is None:
        index = _indexes[kind] = item_index(kind) if kind.keys else _index_values
    try:
        return index(value, False).items()
    except Untrackable:
        return _named_one_by_one(kind, value, path, found)


def _named_one_by_one(
    kind: ListOf, value: list[Any], path: _Path, found: _Found
) -> Iterator[tuple[str, Any]]:
    name_of = item_element(kind) if kind.keys else _value_element
    seen: set[str] = set()
    for index, child in enumerate(value):
        try:
            element = name_of(child)
        except Untrackable:
            found.append((path, f"element {index}: {_unnamable(kind, child)}"))
            return
        if element in seen:
            found.append((path, f"duplicate entries for key {element_text(element)}"))
        seen.add(element)
        yield element, child


def _index_values(items: Any, arranged: bool) -> dict[str, Any]:
    index = {_value_element(item): item for item in items}
    if len(index) != len(items):
        raise Untrackable
    return index


def _value_element(value: Any) -> str:
    if value is None or isinstance(value, (dict, list)):
        raise Untrackable
    return value_element(value)


def _unnamable(kind: ListOf, item: Any) -> str:
    """Why an item has no name among its likes."""
    if not kind.keys:
        if isinstance(item, dict):
            return "associative list without keys has an element that's a map type"
        if isinstance(item, list):
            return "not supported: associative list with lists as elements"
        return "associative list without keys has an element that's an explicit null"
    if item is None:
        return "associative list with keys may not have a null element"
    if not isinstance(item, dict):
        return "associative list with keys may not have non-map elements"
    fields = kind.element.fields if isinstance(kind.element, Struct) else {}
    missing = [
        name for name in kind.keys if name not in item and key_default(fields.get(name)) is None
    ]
    return (
        f'associative list with keys has an element that omits key field "{missing[0]}"'
        " (and doesn't have default value)"
    )


_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("string", "bytes"), (str,)),
    **dict.fromkeys(("int32", "int64", "double"), (int, float)),
    "bool": (bool,),
    **dict.fromkeys(("Time", "MicroTime", "Quantity", "IntOrString"), (str, int, float, bool)),
    **dict.fromkeys(("raw", "any"), (str, int, float, bool, dict, list)),
}


def _accepted(kind: Type) -> tuple[type, ...]:
    """The types of values that need no further look."""
    return _TYPES[kind.name] if type(kind) is Scalar else ()


def _scalar(kind: Scalar, value: Any, path: _Path, found: _Found) -> None:
    accepted = _TYPES[kind.name]
    if type(value) in accepted:
        return
    if accepted == (str,):
        why = f"expected string, got &value.valueUnstructured{{Value:{source_text(value)}}}"
    elif accepted == (int, float):
        why = f"expected numeric (int or float), got {type_text(value)}"
    elif accepted == (bool,):
        why = f"expected boolean, got &{{{plain_text(value)}}}"
    else:
        why = f"expected any scalar, got &{{{plain_text(value)}}}"
    found.append((path, why))


_CHECKS: dict[type, Callable[[Any, Any, _Path, _Found], None]] = {
    Scalar: _scalar,
    Struct: _struct,
    MapOf: _map,
    ListOf: _list,
}
