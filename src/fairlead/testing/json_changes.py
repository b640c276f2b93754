"""The JSON patch from one value to another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Step = dict[str, Any]


def changes(old: Any, new: Any) -> list[Step]:
    """Steps that make `new` of `old`. A list that differs is put there as a whole."""
    return list(_steps(old, new, ""))


def _steps(old: Any, new: Any, path: str) -> Iterator[Step]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in old.keys() - new.keys():
            yield {"op": "remove", "path": _below(path, name)}
        for name, value in new.items():
            if name in old:
                yield from _steps(old[name], value, _below(path, name))
            else:
                yield {"op": "add", "path": _below(path, name), "value": value}
    elif old != new:
        yield {"op": "replace", "path": path, "value": new}


def _below(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
