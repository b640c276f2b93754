"""Entries of `metadata.managedFields` as they are stored: the set of fields is JSON text.

Sets are often half of an object, and few writes change one. So `storage.body_metadata` cuts them
out of a stored object before it is parsed, and encoders write the same text back into JSON or a
protobuf message. A set that is needed is parsed once: sets are cached by their text, which most
writes do not change, and which objects of one template share.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, ValuesView
from typing import Any, Final

import orjson

from fairlead.base.caches import BoundedCache
from fairlead.base.compiled import mypyc_attr
from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Struct

_KEY: Final = "fieldsV1"
MAX_SETS: Final = 4096
MAX_BYTES: Final = 16 * 1024 * 1024
MAX_TEXT: Final = 32 * 1024
_SIZE: Final = 6  # bytes of a parsed set for each byte of its text
_LEAF: Final[Object] = {}


class StoredSet:
    """A set of fields as text, and parsed. `struct` is the type of which it is known that the set
    fits it, see `prune.reconciled`. Immutable but for that."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.fields: Object = _with_shared_leaves(orjson.loads(text))
        self.struct: Struct | None = None


def _with_shared_leaves(fields: Object) -> Object:
    """Use one empty node for all leaves of a parsed set: they are most of its memory."""
    for step, node in fields.items():
        fields[step] = _with_shared_leaves(node) if node else _LEAF
    return fields


_sets: Final[BoundedCache[bytes, StoredSet]] = BoundedCache(
    MAX_SETS, MAX_BYTES, MAX_TEXT, _SIZE, name="field sets"
)


def _parsed(text: bytes) -> StoredSet:
    parsed = _sets.get(text)
    if parsed is None:
        parsed = StoredSet(text)
        _sets.keep(text, parsed, len(text))
    return parsed


@mypyc_attr(native_class=False)
class StoredEntry(dict[str, Any]):
    """An entry whose set of fields is JSON text in the stored form. Behaves like any other entry;
    encoders use the text as it is. Immutable."""

    __slots__ = ("_set", "text")

    def __init__(self, head: Object, text: bytes) -> None:
        super().__init__(head)
        self.text = text
        self._set: StoredSet | None = None
        super().__setitem__(_KEY, orjson.Fragment(text))

    @property
    def set(self) -> StoredSet:
        """The parsed set."""
        if self._set is None:
            self._set = _parsed(self.text)
        return self._set

    def mentions(self, texts: list[bytes]) -> bool:
        """Whether the text of the set has any of these texts."""
        return any(text in self.text for text in texts)

    def plain(self) -> Object:
        """A plain dictionary with the same content, owned by the caller."""
        return {name: orjson.loads(self.text) if name == _KEY else self[name] for name in self}

    def __getitem__(self, name: str) -> Any:
        return self.set.fields if name == _KEY else dict.__getitem__(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        return self.set.fields if name == _KEY else dict.get(self, name, default)

    def __iter__(self) -> Iterator[str]:
        return super().__iter__()  # overridden: else `dict(entry)` copies the fragment

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        return {name: self[name] for name in self}.items()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        return {name: self[name] for name in self}.values()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, dict) or len(self) != len(other):
            return False
        if isinstance(other, StoredEntry) and self.text == other.text:
            names = [name for name in self if name != _KEY]
        else:
            names = list(self)
        return all(name in other and self[name] == other[name] for name in names)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __copy__(self) -> StoredEntry:
        return self

    def __deepcopy__(self, _: Any) -> StoredEntry:
        return self


def with_plain_entries(value: Object) -> Object:
    """The object with entries that may be changed in place; does not change the given object."""
    metadata = value.get("metadata") or {}
    entries = metadata.get("managedFields")
    if not isinstance(entries, list) or not any(isinstance(item, StoredEntry) for item in entries):
        return value
    plain = [item.plain() if isinstance(item, StoredEntry) else item for item in entries]
    return {**value, "metadata": {**metadata, "managedFields": plain}}
