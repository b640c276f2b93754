"""Strategic merge of a patch into an object, by the rules of kustomizations: what a patch adds to
a list comes first, null and empty items remove, and `$patch` replaces or deletes."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from fairlead.cli.kustomize.errors import KustomizeError
from fairlead.cli.kustomize.files import Blanks
from fairlead.cli.kustomize.resources import as_text
from fairlead.cli.kustomize.schemas import NOTHING, Schema, Schemas

Object = dict[str, Any]
Keys = tuple[str, ...]
_DIRECTIVE = "$patch"
_STRATEGIES = ("delete", "merge", "replace")


class _Absent:
    """The value of a field that is not there."""


_ABSENT = _Absent()


def merge(value: Object, patch: Object, schemas: Schemas, blanks: Blanks) -> Object | None:
    """The patched object; None if the patch deletes it. Its fields without a value are dropped.
    Raises KustomizeError."""
    result = _Merger(schemas, blanks).merge(value, deepcopy(patch), NOTHING)
    return result if isinstance(result, dict) else None


def _is_missing(value: Any) -> bool:
    return value is _ABSENT or value is None


class _Merger:
    def __init__(self, schemas: Schemas, blanks: Blanks) -> None:
        self._schemas = schemas
        self._blanks = {(id(holder), name) for holder, name in blanks}

    def merge(self, old: Any, patch: Any, schema: Schema) -> Any:
        """The merged value; _ABSENT if nothing is left."""
        kind = next((value for value in (old, patch) if not _is_missing(value)), None)
        if isinstance(kind, dict) or kind is None:
            self._check(dict, old, patch)
            return self._map(old, patch, schema)
        if isinstance(kind, list):
            self._check(list, old, patch)
            keys = schema.keys()
            if keys is None:
                return old if patch is _ABSENT else _present(patch)
            return self._list(old, patch, schema, keys)
        if isinstance(old, (dict, list)) or isinstance(patch, (dict, list)):
            raise KustomizeError("a patch has a list or an object where the object has a scalar")
        return old if patch is _ABSENT else _present(patch)

    def _check(self, form: type, *values: Any) -> None:
        if not all(_is_missing(value) or isinstance(value, form) for value in values):
            name = "an object" if form is dict else "a list"
            raise KustomizeError(f"a patch and the object differ in whether a field is {name}")

    def _map(self, old: Any, patch: Any, schema: Schema) -> Any:
        if patch is None and not _is_missing(old):
            return _ABSENT
        strategy = _strategy_of(patch)
        if _is_missing(old):
            if strategy == "delete":
                return _ABSENT
            if patch is _ABSENT:
                return old
            if patch is None:
                return _ABSENT
            old = patch
        elif strategy == "delete":
            return _ABSENT
        elif strategy == "replace":
            old = patch
        if schema is NOTHING:
            schema = self._schema_of(old, patch)
        theirs = patch if isinstance(patch, dict) else {}
        for name in sorted({*old, *theirs}):
            if old.get(name, _ABSENT) is None and (id(old), name) in self._blanks:
                del old[name]
            merged = self.merge(
                old.get(name, _ABSENT), theirs.get(name, _ABSENT), schema.field(name)
            )
            if merged is _ABSENT:
                old.pop(name, None)
            else:
                old[name] = merged
        return old

    def _schema_of(self, *values: Any) -> Schema:
        for value in values:
            if isinstance(value, dict) and value.get("apiVersion") and value.get("kind"):
                return self._schemas.of(value)
        return NOTHING

    def _list(self, old: Any, patch: Any, schema: Schema, keys: Keys) -> Any:
        """A list whose items are merged by their keys."""
        if _is_missing(old):
            if patch is None:
                return _ABSENT
            old = patch
        elif patch is None:
            return _ABSENT
        elif patch is not _ABSENT:
            strategy = _list_strategy(patch)
            if strategy == "delete":
                return _ABSENT
            if strategy == "replace":
                old = patch
        theirs = patch if isinstance(patch, list) else []
        if not keys:
            return _merged_scalars(old, theirs)
        return _ItemMerge(self, old, theirs, schema.element(), keys).result()


def _present(patch: Any) -> Any:
    return _ABSENT if patch is None else patch


def _strategy_of(patch: Any) -> str:
    """The strategy of an object in a patch, whose directive is removed."""
    if not isinstance(patch, dict) or _DIRECTIVE not in patch:
        return "merge"
    strategy = patch.pop(_DIRECTIVE)
    if strategy not in _STRATEGIES:
        raise KustomizeError(f"{_DIRECTIVE}: {strategy} is none of {', '.join(_STRATEGIES)}")
    return str(strategy)


def _list_strategy(patch: list[Any]) -> str:
    """The strategy of a list in a patch: that of an item that has nothing but a directive."""
    for item in patch:
        if isinstance(item, dict) and list(item) == [_DIRECTIVE]:
            strategy = str(item[_DIRECTIVE])
            if strategy not in _STRATEGIES:
                raise KustomizeError(
                    f"{_DIRECTIVE}: {strategy} is none of {', '.join(_STRATEGIES)}"
                )
            patch.remove(item)
            return strategy
    return "merge"


def _merged_scalars(old: list[Any], theirs: list[Any]) -> list[Any]:
    merged: dict[str, Any] = {}
    for value in (*theirs, *old):
        if not _is_missing(value):
            merged.setdefault(as_text(value), value)
    return list(merged.values())


Values = list[str]


class _ItemMerge:
    """Merges the items of two lists that have the same values of the keys."""

    def __init__(
        self, merger: _Merger, old: list[Any], theirs: list[Any], schema: Schema, keys: Keys
    ) -> None:
        self._merger = merger
        self._old = old
        self._theirs = theirs
        self._schema = schema
        self._keys = keys

    def result(self) -> list[Any]:
        """The merged list, with the items of the patch first."""
        entries = self._entries()
        if not entries:
            return self._old
        used = [
            (index, key)
            for index, key in enumerate(self._keys)
            if any(values[index] for values in entries)
        ] or list(enumerate(self._keys))
        keys = [key for _, key in used]
        added: list[Any] = []
        for values in entries:
            wanted = [values[index] for index, _ in used]
            item = self._merged(wanted, keys)
            if _is_missing(item) or item == {}:
                self._old[:] = _without(self._old, keys, wanted)
                continue
            for key, value in zip(keys, wanted, strict=True):
                if key not in item and value:
                    item[key] = value
            _put(added, item, keys, wanted)
        for item in self._old:
            if not isinstance(item, dict):
                added.append(item)
                continue
            present = [as_text(item[key]) for key in keys if not _is_missing(item.get(key))]
            if len(present) < len(keys):
                added.append(item)
            if len(keys) > 1:
                added[:] = _without(added, keys[: len(present)], present)
            _put(added, item, keys[: len(present)], present)
        return added

    def _entries(self) -> list[Values]:
        """The values of the keys in all items, those of the patch first, each once. Items that
        lack some of the keys are the same as those that have them."""
        found: list[Values] = []
        for item in (*self._theirs, *self._old):
            values = [
                as_text(item.get(key)) if isinstance(item, dict) else "" for key in self._keys
            ]
            if values not in found:
                found.append(values)
        if len(self._keys) > 1:
            for first in range(len(found)):
                for other in range(len(found)):
                    joined = _joined(found[first], found[other])
                    if joined:
                        found[first] = found[other] = joined
        return found

    def _merged(self, values: Values, keys: list[str]) -> Any:
        used = {key: value for key, value in zip(keys, values, strict=True) if value}
        wanted = used or dict.fromkeys(keys, "")
        old, theirs = (_first(items, wanted) for items in (self._old, self._theirs))
        return self._merger.merge(old, theirs, self._schema)


def _joined(first: Values, other: Values) -> Values:
    """What two items have in common; empty if they are different items."""
    if any(a and b and a != b for a, b in zip(first, other, strict=True)):
        return []
    if not any(a == b for a, b in zip(first, other, strict=True)):
        return []
    return [a or b for a, b in zip(first, other, strict=True)]


def _first(items: list[Any], wanted: dict[str, str]) -> Any:
    for item in items:
        if isinstance(item, dict) and all(
            key in item and (not value or as_text(item[key]) == value)
            for key, value in wanted.items()
        ):
            return item
    return _ABSENT


def _fits(item: Any, keys: list[str], values: Values) -> bool:
    return isinstance(item, dict) and all(
        key in item and (not value or as_text(item[key]) == value)
        for key, value in zip(keys, values, strict=True)
    )


def _without(items: list[Any], keys: list[str], values: Values) -> list[Any]:
    return [item for item in items if item and not _fits(item, keys, values)]


def _put(items: list[Any], item: Any, keys: list[str], values: Values) -> None:
    """Put the item in the place of those of the same values, or at the end."""
    places = [index for index, other in enumerate(items) if _fits(other, keys, values)]
    for index in places:
        items[index] = item
    if not places:
        items.append(item)
