"""Compares two states of an object without the metadata that every write changes."""

from __future__ import annotations

from fairlead.client.resources import Object

NOISE = ("managedFields", "resourceVersion", "generation")  # changed by every write


def without(value: Object, names: tuple[str, ...] = NOISE) -> Object:
    """A copy of the object without these fields of its metadata."""
    metadata = {key: item for key, item in value["metadata"].items() if key not in names}
    return {**value, "metadata": metadata}


def same_content(one: Object, other: Object) -> bool:
    """Whether two objects are equal apart from managedFields and resourceVersion."""
    return _content(one) == _content(other)


def _content(value: Object) -> Object:
    return without(value, ("managedFields", "resourceVersion"))
