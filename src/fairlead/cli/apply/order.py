"""The order in which objects of files are applied."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.cli.manifests import Manifest
from fairlead.cli.resolution import defined_kinds


def in_order(found: Sequence[Manifest], usual: str) -> list[Manifest]:
    """Keep the order of the files, but move objects to the end if their definition or namespace
    comes later in the files. `usual` is the namespace of objects that name none."""
    kinds = set[tuple[str, str]]().union(*(defined_kinds(one.value) for one in found))
    namespaces = {_name(one) for one in found if _is_namespace(one)}
    early: list[Manifest] = []
    late: list[Manifest] = []
    for one in found:
        if _is_namespace(one):
            namespaces.discard(_name(one))
            early.append(one)
        elif defined_kinds(one.value):
            kinds -= defined_kinds(one.value)
            early.append(one)
        else:
            space = (one.value.get("metadata") or {}).get("namespace") or usual
            (late if _kind(one) in kinds or space in namespaces else early).append(one)
    return early + late


def _kind(one: Manifest) -> tuple[str, str]:
    return one.value["apiVersion"].rpartition("/")[0], one.value["kind"]


def _is_namespace(one: Manifest) -> bool:
    return _kind(one) == ("", "Namespace")


def _name(one: Manifest) -> str:
    return str((one.value.get("metadata") or {}).get("name") or "")
