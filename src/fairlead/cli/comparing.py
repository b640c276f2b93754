"""What of an object counts when two states of it are compared."""

from __future__ import annotations

from fairlead.client.resources import Object

NOISE = ("managedFields", "resourceVersion", "generation")  # changes with every write


def without(value: Object, names: tuple[str, ...] = NOISE) -> Object:
    """An object without some of its metadata."""
    metadata = {key: item for key, item in value["metadata"].items() if key not in names}
    return {**value, "metadata": metadata}


def same_content(one: Object, other: Object) -> bool:
    """Whether they differ in nothing but who owns what."""
    return _content(one) == _content(other)


def _content(value: Object) -> Object:
    return without(value, ("managedFields", "resourceVersion"))
