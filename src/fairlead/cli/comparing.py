"""Whether two states of an object differ in anything but who owns what."""

from __future__ import annotations

from fairlead.client.resources import Object

_NOISE = ("managedFields", "resourceVersion")


def same_content(one: Object, other: Object) -> bool:
    return _content(one) == _content(other)


def _content(value: Object) -> Object:
    metadata = {key: item for key, item in value["metadata"].items() if key not in _NOISE}
    return {**value, "metadata": metadata}
