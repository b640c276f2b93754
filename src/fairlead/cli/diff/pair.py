"""The two sides of a comparison: the live object and the merged one."""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.cli.masks import masked_pair
from fairlead.cli.output import documents
from fairlead.client import ResourceType

Object = dict[str, Any]


class Pair(NamedTuple):
    """Both sides as text; an empty text means that there is no object. `name` is the file name."""

    name: str
    live: str
    merged: str


def pair(
    type: ResourceType,
    live: Object | None,
    merged: Object | None,
    show_managers: bool = False,
) -> Pair:
    """Both sides as YAML, with Secrets masked, and without managedFields unless `show_managers`."""
    before, after = (_plain(side or {}, show_managers) for side in (live, merged))
    sides = masked_pair(before, after)
    texts = [documents.as_yaml(side) + "\n" if side else "" for side in sides]
    metadata = ((live or merged or {}).get("metadata")) or {}
    group = f"{type.group}." if type.group else ""
    space, name = metadata.get("namespace", ""), metadata.get("name", "")
    return Pair(f"{group}{type.version}.{type.kind}.{space}.{name}", texts[0], texts[1])


def _plain(side: Object, show_managers: bool) -> Object:
    if show_managers or not side:
        return side
    metadata = {key: item for key, item in side["metadata"].items() if key != "managedFields"}
    return {**side, "metadata": metadata}
