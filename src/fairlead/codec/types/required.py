"""Fields that a body must give even though their zero value is good: told by the body alone, since
what is decoded has them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.codec.types.model import ListOf, MapOf, Struct, Type, structs

# The types, by group-version, whose required fields may not be left out. Elsewhere the rules of a
# kind say what is missing.
_STRICT = {
    "apps/v1": ("StatefulSetCondition", "StatefulSetStatus"),
    "core/v1": (
        *("CSIVolumeSource", "DownwardAPIVolumeFile", "FlexPersistentVolumeSource"),
        *("FlexVolumeSource", "GitRepoVolumeSource", "ISCSIPersistentVolumeSource"),
        *("ISCSIVolumeSource", "KeyToPath", "LocalVolumeSource", "PersistentVolumeClaimCondition"),
        "ServiceAccountTokenProjection",
    ),
    "policy/v1beta1": (
        *("AllowedCSIDriver", "AllowedFlexVolume", "HostPortRange", "IDRange"),
        "RuntimeClassStrategyOptions",
    ),
    "storage/v1": ("CSINode", "CSINodeDriver", "CSINodeSpec", "TokenRequest"),
}
# Of those, what is required in the type but may be left out all the same.
_OPTIONAL = {"availableReplicas", "topologyKeys"}

Find = Callable[[Any, str, list[str]], None]


def missing_paths(struct: Struct, value: Any, *, in_message: bool = False) -> list[str]:
    """The paths of required fields that a body leaves out; null counts as given. A message cannot
    say that a list is empty but by leaving it out."""
    found: list[str] = []
    finder = _finder(struct, in_message)
    if finder is not None:
        finder(value, "", found)
    return found


def _finder(struct: Struct, in_message: bool) -> Find | None:
    """What looks through objects of a type; None if there is nothing to look for."""
    walkers = struct.walkers
    name = "required in messages" if in_message else "required"
    if name not in walkers:
        is_strict = any(_needed(one, in_message) for one in structs(struct))
        walkers[name] = _of_struct(struct, in_message) if is_strict else None
    found: Find | None = walkers[name]
    return found


def _needed(struct: Struct, in_message: bool) -> tuple[str, ...]:
    if struct.name not in _STRICT.get(struct.group_version, ()):
        return ()
    return tuple(
        one.name
        for one in struct.fields.values()
        if one.required
        and one.name not in _OPTIONAL
        and not (in_message and isinstance(one.type, ListOf))
    )


def _of_struct(struct: Struct, in_message: bool) -> Find:
    needed = _needed(struct, in_message)
    inner: list[tuple[str, Find]] | None = None

    def find(value: Any, path: str, found: list[str]) -> None:
        nonlocal inner
        if inner is None:  # on first use, since types may refer to themselves
            inner = [
                (name, finder)
                for name, one in struct.fields.items()
                if (finder := _of_type(one.type, in_message)) is not None
            ]
        if not isinstance(value, dict):
            return
        found += [f"{path}{name}" for name in needed if name not in value]
        for name, finder in inner:
            item = value.get(name)
            if item is not None:
                finder(item, f"{path}{name}", found)

    return find


def _of_type(node: Type, in_message: bool) -> Find | None:
    while_list = isinstance(node, ListOf)
    element = node.element if isinstance(node, (ListOf, MapOf)) else node
    finder = _finder(element, in_message) if isinstance(element, Struct) else None
    if finder is None:
        return None
    if not isinstance(node, (ListOf, MapOf)):
        return lambda value, path, found: finder(value, f"{path}.", found)

    def find(value: Any, path: str, found: list[str]) -> None:
        if while_list and isinstance(value, list):
            for index, item in enumerate(value):
                finder(item, f"{path}[{index}].", found)
        elif isinstance(value, dict):
            for key, item in value.items():
                finder(item, f"{path}[{key}].", found)

    return find
