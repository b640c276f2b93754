"""Objects by key and by index values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fairlead.base.logs import Logger

Object = dict[str, Any]
Index = Callable[[Object], Iterable[str]]

_LOG = Logger(__name__)


class Cache:
    """A cache of objects with indexes. An index function returns the values to index an object by;
    if it raises, the error is logged and the object is not in that index."""

    def __init__(self, indexes: Mapping[str, Index]) -> None:
        self._objects: dict[str, Object] = {}
        self._indexes = dict(indexes)
        self._keys: dict[str, dict[str, dict[str, None]]] = {name: {} for name in indexes}
        self._values: dict[str, list[tuple[str, str]]] = {}

    def get(self, key: str) -> Object | None:
        return self._objects.get(key)

    def keys(self) -> Iterable[str]:
        return self._objects.keys()

    def items(self) -> list[Object]:
        return list(self._objects.values())

    def by_index(self, name: str, value: str) -> list[Object]:
        """Raises KeyError for an unknown index."""
        return [self._objects[key] for key in self._keys[name].get(value, ())]

    def put(self, key: str, value: Object) -> None:
        self._forget(key)
        self._objects[key] = value
        entries = [(name, key) for name in self._indexes for key in self._indexed(name, value)]
        for name, index_key in entries:
            self._keys[name].setdefault(index_key, {})[key] = None
        if entries:
            self._values[key] = entries

    def remove(self, key: str) -> None:
        self._forget(key)
        self._objects.pop(key, None)

    def _indexed(self, name: str, value: Object) -> list[str]:
        try:
            return list(self._indexes[name](value))
        except Exception:
            _LOG.exception("an index failed", index=name)
            return []

    def _forget(self, key: str) -> None:
        for name, value in self._values.pop(key, ()):
            keys = self._keys[name].get(value, {})
            keys.pop(key, None)
            if not keys:
                self._keys[name].pop(value, None)
