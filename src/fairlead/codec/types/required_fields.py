"""Finds required fields that a body omits although their zero value is valid. Needs the body:
decoded objects have all of these fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fairlead.codec.types.model import ListOf, MapOf, Struct, Type, structs

# Types, by group-version, whose required fields must be given. For other types, the validation of
# the kind reports missing fields.
_STRICT: Final = {
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
# Fields of these types that are required but may be omitted all the same.
_OPTIONAL: Final = {"availableReplicas", "topologyKeys"}

Find = Callable[[Any, str, list[str]], None]


def missing_paths(struct: Struct, value: Any, *, in_message: bool = False) -> list[str]:
    """The paths of required fields that a body omits; null counts as given. Lists in a protobuf
    message are not checked: an empty list is written by omitting it."""
    paths: list[str] = []
    finder = _finder(struct, in_message)
    if finder is not None:
        finder(value, "", paths)
    return paths


def _finder(struct: Struct, in_message: bool) -> Find | None:
    """The function that searches objects of a type; None if there is nothing to search for."""
    walkers = struct.walkers
    name = "required in messages" if in_message else "required"
    if name not in walkers:
        is_strict = any(_needed(inner, in_message) for inner in structs(struct))
        walkers[name] = _of_struct(struct, in_message) if is_strict else None
    find: Find | None = walkers[name]
    return find


def _needed(struct: Struct, in_message: bool) -> tuple[str, ...]:
    if struct.name not in _STRICT.get(struct.group_version, ()):
        return ()
    return tuple(
        field.name
        for field in struct.fields.values()
        if field.required
        and field.name not in _OPTIONAL
        and not (in_message and isinstance(field.type, ListOf))
    )


def _of_struct(struct: Struct, in_message: bool) -> Find:
    needed = _needed(struct, in_message)
    inner: list[tuple[str, Find]] | None = None

    def find(value: Any, path: str, paths: list[str]) -> None:
        nonlocal inner
        if inner is None:  # on first use: a type may contain itself
            inner = [
                (name, finder)
                for name, field in struct.fields.items()
                if (finder := _of_type(field.type, in_message)) is not None
            ]
        if not isinstance(value, dict):
            return
        paths += [f"{path}{name}" for name in needed if name not in value]
        for name, finder in inner:
            item = value.get(name)
            if item is not None:
                finder(item, f"{path}{name}", paths)

    return find


def _of_type(node: Type, in_message: bool) -> Find | None:
    while_list = isinstance(node, ListOf)
    element = node.element if isinstance(node, (ListOf, MapOf)) else node
    finder = _finder(element, in_message) if isinstance(element, Struct) else None
    if finder is None:
        return None
    if not isinstance(node, (ListOf, MapOf)):
        return lambda value, path, paths: finder(value, f"{path}.", paths)

    def find(value: Any, path: str, paths: list[str]) -> None:
        if while_list and isinstance(value, list):
            for index, item in enumerate(value):
                finder(item, f"{path}[{index}].", paths)
        elif isinstance(value, dict):
            for key, item in value.items():
                finder(item, f"{path}[{key}].", paths)

    return find
