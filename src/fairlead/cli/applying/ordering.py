"""The order in which objects of files are applied."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.cli.located import defined_kinds
from fairlead.cli.manifests import Manifest


def in_order(found: Sequence[Manifest]) -> list[Manifest]:
    """As they stand in the files, but what needs a definition or a namespace that comes only later
    comes after all others."""
    kinds = set[tuple[str, str]]().union(*(defined_kinds(one.value) for one in found))
    namespaces = {_name(one) for one in found if _is_namespace(one)}
    early: list[Manifest] = []
    late: list[Manifest] = []
    for one in found:
        needs = (
            _kind(one) in kinds,
            (one.value.get("metadata") or {}).get("namespace") in namespaces,
        )
        (late if any(needs) else early).append(one)
        kinds -= defined_kinds(one.value)
        if _is_namespace(one):
            namespaces.discard(_name(one))
    return early + late


def _kind(one: Manifest) -> tuple[str, str]:
    return one.value["apiVersion"].rpartition("/")[0], one.value["kind"]


def _is_namespace(one: Manifest) -> bool:
    return _kind(one) == ("", "Namespace")


def _name(one: Manifest) -> str:
    return str((one.value.get("metadata") or {}).get("name") or "")
