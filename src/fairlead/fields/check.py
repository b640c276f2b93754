"""Checks an object against its type, as strictly as apply requires, and explains the problems.

Apply refuses unknown fields, values of another type and list items without unique keys, whatever
the field validation level; a dialect may drop unknown fields and retry. The messages are the
reference's, which prints values in Go syntax.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.codec.types.mismatch import plain_text, source_text, type_text
from fairlead.codec.types.model import ListOf, MapOf, Scalar, Struct, Type, structs
from fairlead.fields.field_sets import element_text, value_element
from fairlead.fields.shapes import Untrackable, item_element, key_default

_Path = tuple[Any, str] | None
"""A path as its last step and the path before it; put into words only when there is a problem."""
_Found = list[tuple[_Path, str]]


def problems(struct: Struct, value: Any) -> list[str]:
    """Every problem of an object, with its path; empty if the object matches the type."""
    found: _Found = []
    _struct(struct, value, None, found)
    return [f"{_text(path)}: {why}" if path else why for path, why in found]


def fits(struct: Struct, value: Any) -> bool:
    """Quick check that an object matches its type; False may be wrong. Does not check that list
    items have unique keys: extracting the fields does."""
    return _fitter(struct)(value)


_Fits = Callable[[Any], bool]


def _fitter(kind: Type) -> _Fits:
    """Return the function that checks values of a type; null matches every type."""
    if isinstance(kind, Struct):
        known: _Fits | None = kind.walkers.get("fits")
        if known is None:
            known = kind.walkers["fits"] = _struct_fitter(kind)
        return known
    if isinstance(kind, MapOf):
        return _map_fitter(kind)
    if isinstance(kind, ListOf):
        return _list_fitter(kind)
    accepted = _or_null(kind)
    return lambda value: type(value) in accepted


def _or_null(kind: Type) -> frozenset[type]:
    return frozenset((*_accepted(kind), type(None)))


def _struct_fitter(kind: Struct) -> _Fits:
    parts: dict[str, tuple[frozenset[type], _Fits | None]] = {}

    def fits(value: Any) -> bool:
        if type(value) is not dict:
            return value is None
        if not parts:  # on first use: a type may contain itself
            for name, item in kind.fields.items():
                is_leaf = isinstance(item.type, Scalar)
                parts[name] = _or_null(item.type), None if is_leaf else _fitter(item.type)
        for name, child in value.items():
            part = parts.get(name)
            if part is None:
                if not kind.preserve_unknown:
                    return False
            elif type(child) not in part[0] and (part[1] is None or not part[1](child)):
                return False
        return True

    return fits


def _map_fitter(kind: MapOf) -> _Fits:
    below, accepted = _fitter(kind.element), _or_null(kind.element)
    is_leaf = isinstance(kind.element, Scalar)

    def fits(value: Any) -> bool:
        if type(value) is not dict:
            return value is None
        if is_leaf:
            return accepted.issuperset(map(type, value.values()))
        return all(map(below, value.values()))

    return fits


def _list_fitter(kind: ListOf) -> _Fits:
    below = _fitter(kind.element)
    is_leaf = isinstance(kind.element, Scalar)
    accepted = frozenset(_accepted(kind.element)) if kind.kind == "set" else _or_null(kind.element)

    def fits(value: Any) -> bool:
        if type(value) is not list:
            return value is None
        if is_leaf:
            return accepted.issuperset(map(type, value))
        return all(map(below, value))

    def fits_inside(value: Any) -> bool:
        """Checks atomic lists in full: extracting fields does not descend into them."""
        found: _Found = []
        _value(kind, value, None, found)
        return not found

    return fits_inside if kind.kind == "atomic" and _names_items(kind.element) else fits


def _names_items(kind: Type) -> bool:
    """Whether a type contains lists whose items must have unique keys."""
    for struct in structs(kind):
        for field in struct.fields.values():
            below: Type = field.type
            while isinstance(below, (ListOf, MapOf)):
                if isinstance(below, ListOf) and below.kind != "atomic":
                    return True
                below = below.element
    return False


def explained(found: list[str]) -> str:
    """The problems as one message."""
    return found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])


def _text(path: _Path) -> str:
    return _text(path[0]) + element_text(path[1]) if path else ""


def _value(kind: Type, value: Any, path: _Path, found: _Found) -> None:
    if value is None:
        return
    if isinstance(kind, Scalar):
        _scalar(kind, value, path, found)
    elif isinstance(kind, Struct):
        _struct(kind, value, path, found)
    elif isinstance(kind, MapOf):
        _map(kind, value, path, found)
    else:
        _list(kind, value, path, found)


def _struct(kind: Struct, value: Any, path: _Path, found: _Found) -> None:
    if not isinstance(value, dict):
        found.append((path, f"expected map, got &{{{plain_text(value)}}}"))
        return
    plan = _plans.get(kind) or _plan(kind)
    for name, child in value.items():
        known = plan.get(name)
        if known is not None:
            accepted, below = known
            if type(child) not in accepted:
                _value(below, child, (path, "f:" + name), found)
        elif not kind.preserve_unknown:
            found.append(((path, "f:" + name), "field not declared in schema"))


_KEPT = 20_000
_plans: dict[Struct, dict[str, tuple[tuple[type, ...], Type]]] = {}
_names: dict[ListOf, Callable[[Any], str]] = {}


def _plan(kind: Struct) -> dict[str, tuple[tuple[type, ...], Type]]:
    if len(_plans) >= _KEPT:
        _plans.clear()
        _names.clear()
    made = {name: (_accepted(item.type), item.type) for name, item in kind.fields.items()}
    _plans[kind] = made
    return made


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
    name_of = _names.get(kind)
    if name_of is None:
        name_of = _names[kind] = item_element(kind) if kind.keys else _value_element
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
        if type(child) not in accepted:
            _value(kind.element, child, (path, element), found)


def _value_element(value: Any) -> str:
    if value is None or isinstance(value, (dict, list)):
        raise Untrackable
    return value_element(value)


def _unnamable(kind: ListOf, item: Any) -> str:
    """Why an item has no path step."""
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
    """The Python types of values that need no further check."""
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
