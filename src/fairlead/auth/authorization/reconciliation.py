"""Restores missing bootstrap roles and bindings, and missing parts of existing ones."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from fairlead.auth.authorization import coverage
from fairlead.auth.authorization.bootstrap import autoupdate_annotation, bootstrap_objects
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
    dialect: Dialect, objects: Objects, gates: Gates | None = None, additional: str = ""
) -> None:
    """Create missing objects; restore removed rules, subjects and labels. Additions stay, and an
    object whose autoupdate annotation is `false` is left unchanged. All writes run concurrently, so
    that they share commits."""
    every = bootstrap_objects(dialect, gates, additional)
    objects_to_write = [(key, value) for key, value in every if objects.serves(key)]
    objects_to_write = [
        (key, _as_split(dialect, objects, key, value)) for key, value in objects_to_write
    ]
    await asyncio.gather(
        *(_reconcile(dialect, objects, key, value) for key, value in objects_to_write)
    )


def _as_split(dialect: Dialect, objects: Objects, key: str, desired: Object) -> Object:
    """A missing binding, with the labels, annotations and subjects of the binding it was split
    from."""
    name = desired["metadata"]["name"]
    if key != CLUSTER_ROLE_BINDINGS or name not in _SPLIT_FROM or objects.find(key, "", name):
        return desired
    source = objects.find(key, "", _SPLIT_FROM[name])
    if source is None:
        return desired
    metadata: Object = {"name": name}
    for field in ("labels", "annotations"):
        metadata[field] = source["metadata"].get(field) or {}
    split: Object = {"metadata": metadata, "roleRef": desired["roleRef"]}
    if source.get("subjects"):
        split["subjects"] = source["subjects"]
    return split if _is_opted_out(dialect, split) else completed(key, desired, split)


def _is_opted_out(dialect: Dialect, existing: Object) -> bool:
    annotations = existing["metadata"].get("annotations") or {}
    return bool(annotations.get(autoupdate_annotation(dialect)) == "false")


async def _reconcile(dialect: Dialect, objects: Objects, key: str, desired: Object) -> None:
    """Reconcile one object; retries on Conflict, since another server may do the same."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return await _reconcile_once(dialect, objects, key, copied(desired))
        except StatusError as error:
            if error.code != 409:
                raise
    await _reconcile_once(dialect, objects, key, desired)


async def _reconcile_once(dialect: Dialect, objects: Objects, key: str, desired: Object) -> None:
    metadata = desired["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    existing = objects.find(key, namespace, name)
    if existing is None:
        await objects.create(key, desired)
        return
    if _is_opted_out(dialect, existing):
        return
    if "roleRef" in desired and existing["roleRef"] != desired["roleRef"]:
        await objects.delete(key, namespace, name)
        await objects.create(key, desired)
        return
    better = completed(key, desired, existing)
    if better != existing:
        await objects.replace(key, better)


def completed(key: str, desired: Object, existing: Object) -> Object:
    """The existing object with the missing parts of the desired one added."""
    better: Object = copied(existing)
    for name in ("labels", "annotations"):
        present = existing["metadata"].get(name) or {}
        better["metadata"][name] = {**desired["metadata"][name], **present}
    if key not in (ROLES, CLUSTER_ROLES):
        _append(better, "subjects", _absent(desired.get("subjects"), existing.get("subjects")))
    elif "aggregationRule" in desired:
        _complete_selectors(better, desired)
    elif not existing.get("aggregationRule"):
        missing = coverage.single_verb_rules(
            coverage.missing_rules(existing.get("rules") or (), desired["rules"] or ())
        )
        _append(better, "rules", missing)
    return better


def _complete_selectors(better: Object, desired: Object) -> None:
    aggregation = better.setdefault("aggregationRule", {})
    selectors = desired["aggregationRule"]["clusterRoleSelectors"]
    absent = _absent(selectors, aggregation.get("clusterRoleSelectors"))
    _append(aggregation, "clusterRoleSelectors", absent)


def _absent(desired: list[Any] | None, existing: list[Any] | None) -> list[Any]:
    return [item for item in desired or () if item not in (existing or ())]


def _append(value: Object, name: str, items: list[Any]) -> None:
    if items:
        value[name] = [*(value.get(name) or ()), *items]
