"""JSON patch (RFC 6902) with the leniencies of the reference.

It differs from the RFC where clients rely on it: `replace` of a missing member adds it, `copy` from
a missing member and `add` without a value add a null, `test` treats a missing member as null, an
index of -1 counts from the end, anything before the first slash of a path is ignored, and only
`replace` can address the whole document.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from fairlead.base import meter
from fairlead.codec.bodies import TooDeep, bounded_json
from fairlead.codec.types.mismatch import json_kind, quoted
from fairlead.fields.errors import FailedTest, MalformedPatch, OperationFailed, TooManyOperations
from fairlead.fields.stored_entries import with_plain_entries
from fairlead.fields.values import copied, equal

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
_BYTES_A_STEP = 20  # copied in about a microsecond
_ITEMS_A_STEP = 5000  # moved in about a microsecond

_INDEX = re.compile(r"[+-]?[0-9]+")
_LONGEST_INDEX = 20
_TEXTS = ("op", "path", "from")

Operation = dict[str, Any]


def operations(document: Any) -> list[Operation]:
    """The operations of a decoded patch document; checks their form but not their meaning.

    `null` is an empty patch. Raises `MalformedPatch` or `TooManyOperations`.
    """
    if document is None:
        return []
    if not isinstance(document, list):
        raise _wrong_type(json_kind(document), "value of type []handlers.jsonPatchOp")
    for item in document:
        if item is not None and not isinstance(item, dict):
            raise _wrong_type(json_kind(item), "value of type handlers.jsonPatchOp")
        for name in _TEXTS:
            text = item.get(name) if item else None
            if text is not None and not isinstance(text, str):
                target = f"struct field jsonPatchOp.{name} of type string"
                raise _wrong_type(json_kind(text), target)
    if len(document) > MAX_OPERATIONS:
        raise TooManyOperations(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS},"
            f" got {len(document)}"
        )
    return [item or {} for item in document]


def apply_json_patch(
    document: dict[str, Any], patch: list[Operation], *, in_place: bool = False
) -> dict[str, Any]:
    """The document after all operations. Raises `OperationFailed` if one of them does not fit the
    document, or if they nest it too deeply. `in_place` changes the given document."""
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
        meter.spend()
        kind = operation.get("op")
        if kind == "add":
            _add(result, _text(operation, "path", "add"), copied(operation.get("value")))
        elif kind == "replace":
            result = _replaced(result, operation)
        elif kind == "remove":
            _remove(result, _text(operation, "path", "remove"))
        elif kind == "test":
            _test(result, _text(operation, "path", "test"), operation.get("value"))
        elif kind == "move":
            _move(result, operation)
        elif kind == "copy":
            copied_bytes = _copy(result, operation, copied_bytes)
        else:
            raise OperationFailed(f"Unexpected kind: {'unknown' if kind is None else kind}")
    return result


def _wrong_type(actual: str, expected: str) -> MalformedPatch:
    return MalformedPatch(
        f"error decoding patch: json: cannot unmarshal {actual} into Go {expected}"
    )


_MISSING: Final = "missing value"


def _text(operation: Operation, name: str, kind: str) -> str:
    text = operation.get(name)
    if text is None:
        message = f"{kind} operation failed to decode {name}"
        if kind not in ("add", "remove"):
            message += f": operation missing {name} field"
        raise OperationFailed(f"{message}: {_MISSING}")
    return str(text)


def _parent(document: Any, path: str, missing: str) -> tuple[Any, str]:
    """The container that a path points into, and the member in it. Raises `OperationFailed` with
    the text `missing` if there is none."""
    _, *parts = path.split("/")
    if not parts:
        raise OperationFailed(f"{missing}: {_MISSING}")
    *parents, member = [part.replace("~1", "/").replace("~0", "~") for part in parts]
    current = document
    for part in parents:
        try:
            current = _get(current, part)
        except OperationFailed:
            current = None
        if not isinstance(current, (dict, list)):
            raise OperationFailed(f"{missing}: {_MISSING}")
    return current, member


def _index(member: str, size: int) -> int:
    """The list index that a member names; `size` is the number of valid indexes."""
    if not _INDEX.fullmatch(member):
        raise OperationFailed(f"strconv.Atoi: parsing {quoted(member)}: invalid syntax")
    index = int(member) if len(member) <= _LONGEST_INDEX else size
    if not -size <= index < size:
        raise OperationFailed(f"Unable to access invalid index: {member}: invalid index referenced")
    return index + size if index < 0 else index


def _get(container: Any, member: str) -> Any:
    if isinstance(container, dict):
        return container.get(member)
    return container[_index(member, len(container))]


def _insert(container: Any, member: str, value: Any, failed: str) -> None:
    """Add a member; `failed` starts the error message."""
    if isinstance(container, dict):
        container[member] = value
    elif member == "-":
        container.append(value)
    else:
        if not _INDEX.fullmatch(member):
            failed += f": value was not a proper array index: '{member}'"
        try:
            index = _index(member, len(container) + 1)
        except OperationFailed as error:
            raise OperationFailed(f"{failed}: {error}") from None
        meter.spend(len(container) // _ITEMS_A_STEP)
        container.insert(index, value)


def _pop(container: Any, member: str) -> Any:
    if isinstance(container, dict):
        if member not in container:
            raise OperationFailed(f"Unable to remove nonexistent key: {member}: {_MISSING}")
        return container.pop(member)
    return container.pop(_index(member, len(container)))


def _add(document: Any, path: str, value: Any) -> None:
    missing = f'add operation does not apply: doc is missing path: "{path}"'
    container, member = _parent(document, path, missing)
    _insert(container, member, value, f"error in add for path: '{path}'")


def _replaced(document: dict[str, Any], operation: Operation) -> dict[str, Any]:
    """The document after a replacement, possibly of the whole document. Like the reference, ignores
    a scalar in place of the whole document."""
    path, value = _text(operation, "path", "replace"), copied(operation.get("value"))
    if path:
        _replace(document, path, value)
    elif isinstance(value, dict):
        return value
    elif isinstance(value, list):
        raise OperationFailed("the document would be a list")
    return document


def _replace(document: Any, path: str, value: Any) -> None:
    doc = "replace operation does not apply: doc is missing"
    container, member = _parent(document, path, f"{doc} path: {path}")
    if isinstance(container, dict):
        container[member] = value
        return
    try:
        index = _index(member, len(container))
    except OperationFailed:
        raise OperationFailed(f"{doc} key: {path}: {_MISSING}") from None
    container[index] = value


def _remove(document: Any, path: str) -> None:
    missing = f'remove operation does not apply: doc is missing path: "{path}"'
    container, member = _parent(document, path, missing)
    try:
        _pop(container, member)
    except OperationFailed as error:
        raise OperationFailed(f"error in remove for path: '{path}': {error}") from None


def _end(document: Any, operation: Operation, kind: str, name: str) -> tuple[str, Any, str]:
    """Resolve `from` or `path` of an operation: the path, its container and the member in it."""
    path = _text(operation, name, kind)
    end = "from" if name == "from" else "destination"
    missing = f"{kind} operation does not apply: doc is missing {end} path: {path}"
    return path, *_parent(document, path, missing)


def _move(document: Any, operation: Operation) -> None:
    _, container, member = _end(document, operation, "move", "from")
    try:
        value = _pop(container, member)
    except OperationFailed as error:
        raise OperationFailed(f"error in move for path: '{member}': {error}") from None
    path, container, member = _end(document, operation, "move", "path")
    _insert(container, member, value, f"error in move for path: '{path}'")


def _copy(document: Any, operation: Operation, copied_bytes: int) -> int:
    """Copy a value. Returns the number of bytes copied so far, including this copy."""
    origin, container, member = _end(document, operation, "copy", "from")
    try:
        value = _get(container, member)
    except OperationFailed as error:
        raise OperationFailed(f"error in copy for from: '{origin}': {error}") from None
    _, container, member = _end(document, operation, "copy", "path")
    size = len(orjson.dumps(value))
    copied_bytes += size
    if copied_bytes > MAX_COPIED_BYTES:
        raise OperationFailed(
            "Unable to complete the copy, the accumulated size increase of copy is"
            f" {copied_bytes}, exceeding the limit {MAX_COPIED_BYTES}"
        )
    meter.allocate(size)
    meter.spend(size // _BYTES_A_STEP)
    _insert(container, member, copied(value), "error while adding value during copy")
    return copied_bytes


def _test(document: Any, path: str, expected: Any) -> None:
    missing = f"test operation does not apply: is missing path: {path}"
    container, member = _parent(document, path, missing)
    try:
        value = _get(container, member)
    except OperationFailed as error:
        raise OperationFailed(f"error in test for path: '{path}': {error}") from None
    if not equal(value, expected):
        raise FailedTest(f"testing value {path} failed: test failed")
