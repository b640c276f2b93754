"""Finds the parts of a configuration that change nothing.

A manager mostly applies the same configuration again with few changes. If a field of the object,
such as its spec, holds all that the configuration states there, and the manager owns exactly that,
then applying the field changes and removes nothing. It need not be checked, merged and compared.
Its value stays the identical Python object, so the caller need not decode and validate it either.
That a part changed nothing is cached by a digest of all that it depends on.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from fairlead.base.caches import BoundedCache
from fairlead.codec.types.defaults import filler
from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Struct
from fairlead.fields.field_sets import FieldSet
from fairlead.fields.shapes import Items, Shape, Single, Untrackable, shape_of
from fairlead.fields.typed_values import applied_node
from fairlead.fields.values import copied, equal
from fairlead.fields.walk import Pairs, PairWalker

# Always merged: they identify the object, or mostly differ.
_ALWAYS_MERGED: Final[tuple[str, ...]] = ("apiVersion", "kind", "metadata")
MAX_CACHED: Final = 4096
_DIGEST_BYTES: Final = 16
_cache: Final[BoundedCache[tuple[Struct, str, bool, tuple[int, int] | None], bool]] = BoundedCache(
    MAX_CACHED, name="unchanged parts of configurations"
)


def unchanged_fields(
    struct: Struct, live: Object, config: Object, owned: FieldSet, other_fields: list[FieldSet]
) -> FieldSet:
    """The nodes of the top-level fields in which a configuration changes nothing. `owned` and
    `other_fields` are the fields of its manager and of the other managers."""
    unchanged: FieldSet = {}
    members = shape_of(struct).members
    for name, value in config.items():
        member = members.get(name)
        if (
            member is None
            or not value
            or name in _ALWAYS_MERGED
            or isinstance(member.shape, Single)
        ):
            continue
        node = owned.get(member.element)
        if not node or not live.get(name):
            continue
        is_only_owner = not any(member.element in fields for fields in other_fields)
        digest = _digest(value, live[name], node)
        key = struct, name, is_only_owner, digest
        is_known = digest is not None and key in _cache
        if is_known or _is_unchanged(member.shape, live[name], value, node, is_only_owner):
            unchanged[member.element] = node
            if digest is not None and not is_known:
                _cache.keep(key, True, _DIGEST_BYTES)
    return unchanged


def _digest(*values: Any) -> tuple[int, int] | None:
    """A digest of values; None if they cannot be encoded. Whoever finds another value with the same
    digest hides only changes of their own."""
    try:
        encoded = orjson.dumps(values)
    except orjson.JSONEncodeError:
        return None
    return hash(encoded), len(encoded)


def _is_unchanged(
    shape: Shape, live: Any, config: Any, node: FieldSet, is_only_owner: bool
) -> bool:
    try:
        (_FILLING if is_only_owner else _STRICT).walk(shape, live, config)
        return applied_node(shape, config) == node
    except Untrackable:  # also if something differs
        return False


class _Contained(PairWalker):
    """Raises `Untrackable` unless merging a configuration (right) gives the live value (left), and
    the configuration matches its type because the live value does. `fills`: a struct of one owner
    may lack fields that get their defaults again. If others own it, that is a conflict."""

    def __init__(self, *, fills: bool) -> None:
        super().__init__(sees_left=False, trusts_equality=False)
        self._fills = fills

    def single(self, shape: Single, left: Any, right: Any) -> Any:
        if type(left) is type(right):
            if equal(left, right) if shape.kind is not None or shape.free else left == right:
                return
            if self._fills and isinstance(shape.kind, Struct) and type(right) is dict:
                fill = filler(shape.kind)
                filled = copied(right)
                if fill is not None:
                    fill(filled)
                if equal(left, filled):
                    return
        raise Untrackable

    def undescribed(self, left: Any, right: Any) -> Any:
        if not equal(left, right):
            raise Untrackable

    def emptied(self, shape: Shape, left: Any, right: Any) -> Any:
        stays = left and (right is None or type(right) is type(left))
        if not stays and not equal(left, right):
            raise Untrackable

    def fields(self, shape: Shape, left: dict[str, Any]) -> Pairs:
        return _ContainedParts(self, shape)

    def items(self, shape: Items, left: list[Any], right: list[Any]) -> Pairs:
        return _ContainedParts(self, shape.item)


class _ContainedParts(Pairs):
    """Parts of the live value that are not in the configuration stay; all others must be in both,
    and items in the same order."""

    def __init__(self, walker: _Contained, item: Shape) -> None:
        self._walker = walker
        self._item = item

    def both(self, step: str, shape: Shape, left: Any, right: Any) -> None:
        self._walker.walk(shape, left, right)

    def both_at(self, place: int, left: Any, right: Any) -> None:
        self._walker.walk(self._item, left, right)

    def index(self, left: dict[str, Any], right: dict[str, Any]) -> None:
        if list(right) != [element for element in left if element in right]:
            raise Untrackable

    def right_only(self, step: str, value: Any) -> None:
        raise Untrackable

    def result(self) -> Any:
        return None


_FILLING: Final = _Contained(fills=True)
_STRICT: Final = _Contained(fills=False)
