"""Changes that controllers make to objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.operations.api import Object


def with_fewer(value: Object, field: str, stays: Callable[[Any], bool]) -> Object:
    """A copy with less in one of its lists, and without the list if nothing stays."""
    left = [item for item in value.get(field) or () if stays(item)]
    rest = {name: item for name, item in value.items() if name != field}
    return {**rest, field: left} if left else rest
