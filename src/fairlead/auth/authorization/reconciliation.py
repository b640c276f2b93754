"""Restores missing bootstrap roles and bindings, and missing parts of existing ones."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from fairlead.auth.authorization.bootstrap import autoupdate_annotation, bootstrap_objects
from fairlead.auth.authorization.coverage import atoms, missing_rules
from fairlead.auth.authorization.rbac import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLES
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.codec.types.model import Object as Object
from fairlead.fields.values import copied
from fairlead.resources.gates import Gates

_ATTEMPTS = 3
# Bindings that were split off from another one. Subjects that were removed from the original are
# not added to the new binding.
_SPLIT_FROM = {"system:public-info-viewer": "system:discovery"}


class Objects(Protocol):
    """Reads and writes by internal resource name; values are without kind and apiVersion."""

    def serves(self, key: str) -> bool:
        """Whether the resource is enabled."""

    def find(self, key: str, namespace: str, name: str) -> Object | None:
        """A copy of the current object."""

    async def create(self, key: str, value: Object) -> object: ...

    async def replace(self, key: str, value: Object) -> object:
        """Replace the version that `find` returned."""

    async def delete(self, key: str, namespace: str, name: str) -> object: ...


async def reconcile_bootstrap_objects(
    dialect: Dialect, objects: Objects, gates: Gates | None = None
) -> None:
    """Create missing objects; restore removed rules, subjects and labels. Additions stay, and an
    object whose autoupdate annotation is `false` is left unchanged. All writes run concurrently, so
    that they share commits."""
    every = bootstrap_objects(dialect, gates)
    wanted = [(key, value) for key, value in every if objects.serves(key)]
    wanted = [(key, _as_split(dialect, objects, key, value)) for key, value in wanted]
    await asyncio.gather(*(_reconcile(dialect, objects, key, value) for key, value in wanted))


def _as_split(dialect: Dialect, objects: Objects, key: str, wanted: Object) -> Object:
    """A missing binding, with the labels, annotations and subjects of the binding it was split
    from."""
    name = wanted["metadata"]["name"]
    if key != CLUSTER_ROLE_BINDINGS or name not in _SPLIT_FROM or objects.find(key, "", name):
        return wanted
    source = objects.find(key, "", _SPLIT_FROM[name])
    if source is None:
        return wanted
    metadata: Object = {"name": name}
    for field in ("labels", "annotations"):
        metadata[field] = source["metadata"].get(field) or {}
    split: Object = {"metadata": metadata, "roleRef": wanted["roleRef"]}
    if source.get("subjects"):
        split["subjects"] = source["subjects"]
    return split if _is_left_alone(dialect, split) else completed(key, wanted, split)


def _is_left_alone(dialect: Dialect, found: Object) -> bool:
    annotations = found["metadata"].get("annotations") or {}
    return bool(annotations.get(autoupdate_annotation(dialect)) == "false")


async def _reconcile(dialect: Dialect, objects: Objects, key: str, wanted: Object) -> None:
    """Reconcile one object; retries on Conflict, since another server may do the same."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return await _reconcile_once(dialect, objects, key, copied(wanted))
        except StatusError as error:
            if error.code != 409:
                raise
    await _reconcile_once(dialect, objects, key, wanted)


async def _reconcile_once(dialect: Dialect, objects: Objects, key: str, wanted: Object) -> None:
    metadata = wanted["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    found = objects.find(key, namespace, name)
    if found is None:
        await objects.create(key, wanted)
        return
    if _is_left_alone(dialect, found):
        return
    if "roleRef" in wanted and found["roleRef"] != wanted["roleRef"]:
        await objects.delete(key, namespace, name)
        await objects.create(key, wanted)
        return
    better = completed(key, wanted, found)
    if better != found:
        await objects.replace(key, better)


def completed(key: str, wanted: Object, found: Object) -> Object:
    """The existing object with the missing parts of the wanted one added."""
    better: Object = copied(found)
    for name in ("labels", "annotations"):
        existing = found["metadata"].get(name) or {}
        better["metadata"][name] = {**wanted["metadata"][name], **existing}
    if key not in (ROLES, CLUSTER_ROLES):
        _append(better, "subjects", _absent(wanted.get("subjects"), found.get("subjects")))
    elif "aggregationRule" in wanted:
        _complete_selectors(better, wanted)
    elif not found.get("aggregationRule"):
        missing = atoms(missing_rules(found.get("rules") or (), wanted["rules"] or ()))
        _append(better, "rules", missing)
    return better


def _complete_selectors(better: Object, wanted: Object) -> None:
    aggregation = better.setdefault("aggregationRule", {})
    selectors = wanted["aggregationRule"]["clusterRoleSelectors"]
    absent = _absent(selectors, aggregation.get("clusterRoleSelectors"))
    _append(aggregation, "clusterRoleSelectors", absent)


def _absent(wanted: list[Any] | None, found: list[Any] | None) -> list[Any]:
    return [item for item in wanted or () if item not in (found or ())]


def _append(value: Object, name: str, items: list[Any]) -> None:
    if items:
        value[name] = [*(value.get(name) or ()), *items]
