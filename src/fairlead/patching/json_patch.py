"""JSON patch (RFC 6902) with the leniencies of the reference.

It differs from the RFC where clients have come to rely on it: `replace` of a missing member adds
it, `copy` from a missing member and `add` without a value add a null, `test` takes a missing member
for null, an index of -1 counts from the end, whatever stands before the first slash of a path is
ignored, and the whole document cannot be addressed.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from fairlead.patching.errors import MalformedPatch, OperationFailed, TooManyOperations
from fairlead.patching.stored_entries import with_plain_entries
from fairlead.patching.values import copied, equal
from fairlead.schema.mismatch import json_kind
from fairlead.serialization.limits import TooDeep, bounded_json

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024

_INDEX = re.compile(r"[+-]?[0-9]+")
_LONGEST_INDEX = 20
_TEXTS = ("op", "path", "from")

Operation = dict[str, Any]


def operations(document: Any) -> list[Operation]:
    """The operations of a decoded patch document, with their form checked but not their sense.

    `null` is an empty patch. Raises `MalformedPatch` or `TooManyOperations`.
    """
    if document is None:
        return []
    if not isinstance(document, list):
        raise _wrong(json_kind(document), "value of type []handlers.jsonPatchOp")
    for item in document:
        if item is not None and not isinstance(item, dict):
            raise _wrong(json_kind(item), "value of type handlers.jsonPatchOp")
        for name in _TEXTS:
            text = item.get(name) if item else None
            if text is not None and not isinstance(text, str):
                where = f"struct field jsonPatchOp.{name} of type string"
                raise _wrong(json_kind(text), where)
    if len(document) > MAX_OPERATIONS:
        raise TooManyOperations(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS},"
            f" got {len(document)}"
        )
    return [item or {} for item in document]


def apply_json_patch(
    document: dict[str, Any], patch: list[Operation], *, in_place: bool = False
) -> dict[str, Any]:
    """The document after all operations; `OperationFailed` when one of them does not fit it, or
    when they nest the document too deep."""
    if not patch:
        return document
    try:
        result = _applied(document if in_place else copied(with_plain_entries(document)), patch)
        bounded_json(result)
    except (TooDeep, RecursionError, orjson.JSONEncodeError):
        raise OperationFailed("the document would be nested too deep") from None
    return result


def _applied(result: dict[str, Any], patch: list[Operation]) -> dict[str, Any]:
    copied_bytes = 0
    for operation in patch:
        kind, path = operation.get("op"), _text(operation, "path")
        if kind == "add":
            _add(result, path, copied(operation.get("value")))
        elif kind == "replace":
            _replace(result, path, copied(operation.get("value")))
        elif kind == "remove":
            _remove(result, path)
        elif kind == "test":
            _test(result, path, operation.get("value"))
        elif kind == "move":
            _add(result, path, _remove(result, _text(operation, "from")))
        elif kind == "copy":
            value = _get(*_parent(result, _text(operation, "from")))
            copied_bytes += len(orjson.dumps(value))
            if copied_bytes > MAX_COPIED_BYTES:
                raise OperationFailed(
                    f"the copied values are larger than {MAX_COPIED_BYTES} bytes together"
                )
            _add(result, path, copied(value))
        else:
            raise OperationFailed(f"unexpected kind: {kind}")
    return result


def _wrong(given: str, wanted: str) -> MalformedPatch:
    return MalformedPatch(f"error decoding patch: json: cannot unmarshal {given} into Go {wanted}")


def _text(operation: Operation, name: str) -> str:
    text = operation.get(name)
    if text is None:
        raise OperationFailed(f"operation without {name}")
    return str(text)


def _parent(document: Any, path: str) -> tuple[Any, str]:
    """The container that holds what the path names, and its member in there."""
    _, *parts = path.split("/")
    if not parts:
        raise OperationFailed(f"no such path: {path}")
    *way, last = [part.replace("~1", "/").replace("~0", "~") for part in parts]
    current = document
    for part in way:
        current = _get(current, part)
        if not isinstance(current, (dict, list)):
            raise OperationFailed(f"no such path: {path}")
    return current, last


def _index(member: str, size: int) -> int:
    """The place a member names in a list in which `size` places may be named."""
    if not _INDEX.fullmatch(member):
        raise OperationFailed(f"not an index: {member}")
    index = int(member) if len(member) <= _LONGEST_INDEX else size
    if not -size <= index < size:
        raise OperationFailed(f"index out of range: {member}")
    return index + size if index < 0 else index


def _get(container: Any, member: str) -> Any:
    if isinstance(container, dict):
        return container.get(member)
    return container[_index(member, len(container))]


def _add(document: Any, path: str, value: Any) -> None:
    container, member = _parent(document, path)
    if isinstance(container, dict):
        container[member] = value
    elif member == "-":
        container.append(value)
    else:
        container.insert(_index(member, len(container) + 1), value)


def _replace(document: Any, path: str, value: Any) -> None:
    container, member = _parent(document, path)
    if isinstance(container, dict):
        container[member] = value
    else:
        container[_index(member, len(container))] = value


def _remove(document: Any, path: str) -> Any:
    container, member = _parent(document, path)
    if isinstance(container, dict):
        if member not in container:
            raise OperationFailed(f"nothing to remove: {path}")
        return container.pop(member)
    return container.pop(_index(member, len(container)))


def _test(document: Any, path: str, wanted: Any) -> None:
    if not equal(_get(*_parent(document, path)), wanted):
        raise OperationFailed(f"test failed: {path}")
