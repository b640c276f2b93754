"""Reports unknown and duplicate fields of a JSON document, in document order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.codec.bodies import MAX_FOUND, Pairs, parse_with_duplicates
from fairlead.codec.types.decode import joined_path
from fairlead.codec.types.model import ListOf, MapOf, Scalar, Struct, Type

_TYPE_META = ("kind", "apiVersion")
_TEXT = Scalar("string")


def strict_problems(raw: bytes, struct: Struct) -> list[str]:
    """The unknown and the duplicate fields of an object. Does not descend into unknown fields, and
    does not report them as duplicates."""
    paths: dict[str, None] = {}
    for problem in _problems(struct, parse_with_duplicates(raw), []):
        paths[problem] = None
        if len(paths) == MAX_FOUND:
            break
    return list(paths)


def _problems(node: Type, value: Any, path: list[str]) -> Iterator[str]:
    """`path` holds the steps to the value."""
    if isinstance(value, Pairs):
        yield from _of_object(node, value, path)
    elif isinstance(node, ListOf) and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _below(node.element, item, path, f"[{index}]")


def _of_object(node: Type, value: Pairs, path: list[str]) -> Iterator[str]:
    if not isinstance(node, (Struct, MapOf)):
        return
    seen: set[str] = set()
    for key, item in value:
        inner = _member(node, key, at_root=not path)
        if inner is None:
            yield f'unknown field "{joined_path(path, key)}"'
            continue
        if key in seen:
            yield f'duplicate field "{joined_path(path, key)}"'
        seen.add(key)
        yield from _below(inner, item, path, key)


def _member(node: Struct | MapOf, key: str, *, at_root: bool) -> Type | None:
    if isinstance(node, MapOf):
        return node.element
    field = node.fields.get(key)
    if field is not None:
        return field.type
    return _TEXT if at_root and key in _TYPE_META else None


def _below(node: Type, value: Any, path: list[str], step: str) -> Iterator[str]:
    path.append(step)
    yield from _problems(node, value, path)
    path.pop()
