"""Sets of field paths, in the structure of `fieldsV1`.

A set is a tree of dictionaries. A key names one step of a path: `f:name` a field or map key,
`k:{"name":"c"}` an item of a keyed list, `v:"x"` a value of a set list, `i:0` a place in a list.
A path is in the set when its node is empty or holds the key `.`:

    {"f:spec": {"f:replicas": {}, "f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}}}}}

holds `.spec.replicas`, `.spec.containers[name="c"]` and `….image`, but not `.spec`. At the root the
empty dictionary is the empty set. Sets are never changed after construction and share nodes. All
functions here keep the normal form (a node with only `.` is written as an empty node) and return
an argument itself if nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import orjson

from fairlead.fields.values import compact_json, string_json

FieldSet = dict[str, Any]
Path = tuple[str, ...]

LEAF: Final[FieldSet] = {}
"""The one node that stands for a path with nothing below it. Never change it."""
EMPTY: Final[FieldSet] = {}


class InvalidFields(ValueError):
    """A malformed set of fields, or a malformed list of `managedFields` entries."""


_NUMBER: Final = re.compile(r"-?[0-9]+")
_LONGEST_NUMBER: Final = 20


def key_element(fields: dict[str, Any]) -> str:
    """The step to the item of a keyed list whose key fields have these values."""
    return "k:" + compact_json({name: _normal_number(value) for name, value in fields.items()})


def value_element(value: Any) -> str:
    """The step to a value of a set list."""
    if type(value) is str:
        return "v:" + string_json(value)
    return "v:" + compact_json(_normal_number(value))


def scalar_json(value: Any) -> str:
    """A scalar as written in a step. Numbers have the shortest form: 1.0 is 1."""
    return str(value) if type(value) is int else compact_json(_normal_number(value))


def _normal_number(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def of(*paths: Path) -> FieldSet:
    """The set of some paths; each path is a tuple of steps."""
    result: FieldSet = EMPTY
    for path in paths:
        node = LEAF
        for element in reversed(path):
            node = {element: node}
        result = union(result, node)
    return result


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    if not left or left is right:
        return right
    return _join(left, right) if right else left


def _join(left: FieldSet, right: FieldSet, *, arranged: bool = False) -> FieldSet:
    """The union of two non-empty nodes. `arranged`: both are in order, and the result must be."""
    result: FieldSet | None = None
    for element, node in right.items():
        node_left = left.get(element)
        if node_left is None:
            merged = node
        elif node_left is node or (not node_left and not node):
            continue
        elif node_left and node:
            merged = _join(node_left, node, arranged=arranged)
        else:
            merged = node_left or node
            if "." not in merged:
                merged = {".": LEAF, **merged}
        if merged is not node_left:
            if result is None:
                result = dict(left)
            result[element] = merged
    if result is None:
        return left
    return level_in_order(result) if arranged and len(result) > len(left) else result


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths of `left` that are not in `right`; paths below a common path stay."""
    if not left or not right:
        return left
    return _without(left, right) or EMPTY


def _without(left: FieldSet, right: FieldSet) -> FieldSet | None:
    """A non-empty node without the paths of another; None if nothing is left."""
    result: FieldSet | None = None
    small, large = (left, right) if len(left) <= len(right) else (right, left)
    for element in small:
        if element not in large:
            continue
        node, removed = left[element], right[element]
        if not node:
            remaining = None if not removed or "." in removed else node
        elif not removed:
            remaining = _children(node)
        else:
            remaining = _without(node, removed)
        if remaining is not node:
            if result is None:
                result = dict(left)
            if remaining is None:
                del result[element]
            else:
                result[element] = remaining
    return left if result is None else _normal(result)


def _children(node: FieldSet) -> FieldSet | None:
    """A non-empty node without its `.`; None if nothing is left."""
    if "." not in node:
        return node
    return {element: child for element, child in node.items() if element != "."} or None


def _normal(node: FieldSet) -> FieldSet | None:
    if not node:
        return None
    return LEAF if len(node) == 1 and "." in node else node


def recursive_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths of `left` that are neither in `right` nor below a path in `right`."""
    if not left or not right:
        return left
    return _recursive_without(left, right) or EMPTY


def _recursive_without(left: FieldSet, right: FieldSet) -> FieldSet | None:
    result: FieldSet | None = None
    for element, removed in right.items():
        node = left.get(element)
        if node is None:
            continue
        if not removed or "." in removed:
            remaining = None
        else:
            remaining = _recursive_without(node, removed) if node else node
        if remaining is not node:
            if result is None:
                result = dict(left)
            if remaining is None:
                del result[element]
            else:
                result[element] = remaining
    return left if result is None else _normal(result)


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    if not left or not right:
        return EMPTY
    return _common(left, right) or EMPTY


def _common(left: FieldSet, right: FieldSet) -> FieldSet | None:
    """The intersection of two non-empty nodes; None if it is empty."""
    result: FieldSet = {}
    small, large = (left, right) if len(left) <= len(right) else (right, left)
    for element, node in small.items():
        match = large.get(element)
        if match is None:
            continue
        if node and match:
            common = _common(node, match)
            if common is not None:
                result[element] = common
        elif not (node or match) or "." in (node or match):
            result[element] = LEAF
    return _normal(result)


def covers(outer: FieldSet, inner: FieldSet) -> bool:
    """Whether every path of the inner set is in the outer one."""
    if outer is inner:
        return True
    for element, node in inner.items():
        match = outer.get(element)
        if match is None:
            return False
        if not match:
            if node:
                return False
        elif not node:
            if "." not in match:
                return False
        elif not covers(match, node):
            return False
    return True


def contains(fields: FieldSet, path: Path) -> bool:
    node = fields
    for element in path:
        child = node.get(element)
        if child is None:
            return False
        node = child
    return bool(path) and (not node or "." in node)


def paths(fields: FieldSet, prefix: Path = ()) -> Iterator[Path]:
    """All paths in the reference's order: at each level first the ending ones, then those below."""
    ordered = sorted((element for element in fields if element != "."), key=_order)
    for element in ordered:
        node = fields[element]
        if not node or "." in node:
            yield (*prefix, element)
    for element in ordered:
        if fields[element]:
            yield from paths(fields[element], (*prefix, element))


def in_order(fields: FieldSet) -> FieldSet:
    """The same set with its steps in the reference's order at every level."""
    if not fields:
        return fields
    elements = sorted(fields)
    if elements[-1][0] > "f":  # `.` and `f:` steps are in order as strings already
        elements.sort(key=_order)
    if not any(fields.values()):
        return fields if elements == list(fields) else dict.fromkeys(elements, LEAF)
    return {element: in_order(node) if (node := fields[element]) else node for element in elements}


def level_in_order(fields: FieldSet) -> FieldSet:
    """The same set with its top-level steps in order; deeper levels must be in order already."""
    elements = sorted(fields)
    if elements[-1][0] > "f":
        elements.sort(key=_order)
    return {element: fields[element] for element in elements}


def ordered_union(left: FieldSet, right: FieldSet) -> FieldSet:
    """The union of two sets that are in order, in order."""
    if not left or left is right:
        return right
    return _join(left, right, arranged=True) if right else left


_KINDS: Final = "fkvi"


def _order(element: str) -> tuple[Any, ...]:
    kind, text = element[0], element[2:]
    if kind == "f":
        return 0, text
    if kind == ".":
        return (-1,)
    value = orjson.loads(text)
    if kind == "k":
        return 1, [(name, value_order(item)) for name, item in sorted(value.items())]
    return _KINDS.index(kind), value_order(value)


def value_order(value: Any) -> tuple[int, Any]:
    """The sort key of keys and values in steps."""
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, (int, float)):
        return 0, value
    return (1, value) if isinstance(value, str) else (3, compact_json(value))


def path_text(path: Path) -> str:
    """The path as shown in messages: `.spec.containers[name="c"].image`."""
    return "".join(map(element_text, path))


def element_text(element: str) -> str:
    kind, text = element[0], element[2:]
    if kind == "f":
        return "." + text
    if kind == "k":
        items = sorted(orjson.loads(text).items())
        return "[" + ",".join(f"{name}={_quoted(value)}" for name, value in items) + "]"
    return f"[={_quoted(orjson.loads(text))}]" if kind == "v" else f"[{text}]"


def _quoted(value: Any) -> str:
    return orjson.dumps(value).decode()


def parsed(value: Any) -> FieldSet:
    """A set sent by a client, in normal form. Raises `InvalidFields` if it is malformed.

    Drops steps of an unknown kind, which a later release may know.
    """
    node = _parsed(value)
    return (_children(node) or EMPTY) if node else EMPTY


def _parsed(value: Any) -> FieldSet:
    if not isinstance(value, dict):
        raise InvalidFields("a set of fields must be an object")
    result: FieldSet = {}
    for element, node in value.items():
        if element == ".":
            result["."] = LEAF
            continue
        name, inner = _canonical(element), _parsed(node)
        if name is not None:
            result[name] = inner
    return _normal(result) or LEAF


def _canonical(element: str) -> str | None:
    """A sent step in canonical form; None if its kind is unknown."""
    kind, text = element[:2], element[2:]
    if kind == "f:":
        return element
    if kind == "i:":
        if not _NUMBER.fullmatch(text) or len(text) > _LONGEST_NUMBER:
            raise InvalidFields(f"not an index: {element}")
        return f"i:{int(text)}"
    if kind == "k:":
        fields = _loaded(text)
        if not isinstance(fields, dict):
            raise InvalidFields(f"not a key: {element}")
        return key_element(fields)
    if kind == "v:":
        return value_element(_loaded(text))
    if len(element) < 2:
        raise InvalidFields(f"too short: {element}")
    return None


def _loaded(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidFields(str(error)) from None
