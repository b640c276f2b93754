"""Maintains the default flow schemas and priority levels.

An annotation marks suggested objects that the operator has taken over: `false`, or no annotation
and a changed spec (generation other than 1). Mandatory objects are always reset. Objects with
`true` that are no longer in the defaults are deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from time import monotonic

from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.base.release import Release
from fairlead.controllers.framework import Keys
from fairlead.fields.values import copied
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.resources.flowcontrol.bootstrap import (
    FLOW_SCHEMAS,
    Spec,
    mandatory_levels,
    stored_version,
    suggested_objects,
)
from fairlead.resources.gates import parse_bool
from fairlead.resources.storage.shared import same
from fairlead.storage.version import Change

SCHEMAS, LEVELS = "flowschemas", "prioritylevelconfigurations"
MANAGER = "api-priority-and-fairness-config-producer-v1"
# Seconds between two writes of an object: limits the rate when servers of two releases disagree.
_MIN_INTERVAL = 1.0


class FlowControlObjects:
    """Keys are a resource and a name. Rewrites of one object are at least a second apart."""

    name = "priority-and-fairness-config-producer"
    workers = 1
    is_steady = True

    def __init__(self, objects: Client, dialect: Dialect, release: Release) -> None:
        self._objects = objects
        self._version = stored_version(release)
        self._annotation = dialect.label("apf.@/autoupdate-spec")
        self._mandatory = self._by_key(mandatory_levels(release), FLOW_SCHEMAS)
        suggested = suggested_objects(dialect, release)
        self._specs = {**self._by_key(suggested.levels, suggested.schemas), **self._mandatory}
        self._written: dict[str, float] = {}  # time of the last write (monotonic), by key

    def add_by(self, add: Callable[[str], None]) -> None:
        for key in self._specs:
            add(key)

    def follows(self) -> Mapping[str, Keys]:
        resources = (f"{self._version}/{LEVELS}", f"{self._version}/{SCHEMAS}")
        return {resource: partial(self._keys, resource) for resource in resources}

    def _keys(self, resource: str, change: Change) -> Iterable[str]:
        return (f"{resource}/{change.name}",)

    async def prepare(self) -> None:
        """Create missing objects concurrently at start. Other servers may do the same; conflicts
        are ignored."""
        await asyncio.gather(*(self._prepare(key) for key in self._specs))

    async def _prepare(self, key: str) -> None:
        try:
            await self.sync(key)
        except StatusError as error:
            if error.code != 409:
                raise

    async def sync(self, key: str) -> float | None:
        resource, _, name = key.rpartition("/")
        if not self._objects.serves(resource):
            return None
        spec, stored = self._specs.get(key), self._objects.find(resource, "", name)
        if spec is None:
            if stored is not None and self._update_flag(stored):
                await self._remove(resource, stored)
            return None
        better = self._desired(key, stored, spec)
        if better is None:
            return None
        pause = self._written.get(key, float("-inf")) + _MIN_INTERVAL - monotonic()
        if pause > 0:
            return pause
        self._written[key] = monotonic()
        await (self._objects.create if stored is None else self._objects.replace)(resource, better)
        return None

    def _desired(self, key: str, stored: Object | None, spec: Spec) -> Object | None:
        """The object to write, or None."""
        if stored is not None:
            return self._corrected(stored, spec, mandatory=key in self._mandatory)
        metadata = {"name": key.rpartition("/")[2], "annotations": {self._annotation: "true"}}
        return {"metadata": metadata, "spec": copied(spec)}

    async def _remove(self, resource: str, stored: Object) -> None:
        """Delete it, with preconditions: a client may just have taken it over."""
        metadata = stored["metadata"]
        options = DeleteOptions(uid=metadata["uid"], revision=metadata["resourceVersion"])
        try:
            await self._objects.delete(resource, "", metadata["name"], options)
        except StatusError as error:
            if error.code != 409:
                raise

    def _corrected(self, stored: Object, default_spec: Spec, *, mandatory: bool) -> Object | None:
        """The corrected object, or None if it is right."""
        updates = mandatory or self._is_ours(stored)
        if mandatory and stored["spec"].get("exempt") and "exempt" in default_spec:
            # Operators may change this part of the exempt level.
            default_spec = {**default_spec, "exempt": stored["spec"]["exempt"]}
        spec = (
            copied(default_spec)
            if updates and not same(stored["spec"], default_spec)
            else stored["spec"]
        )
        if spec is stored["spec"] and self._update_flag(stored) is updates:
            return None
        annotations = dict(stored["metadata"].get("annotations") or {})
        annotations[self._annotation] = "true" if updates else "false"
        return {
            **stored,
            "metadata": {**stored["metadata"], "annotations": annotations},
            "spec": spec,
        }

    def _update_flag(self, stored: Object) -> bool | None:
        """The value of the annotation, or None if missing or malformed."""
        annotations = stored["metadata"].get("annotations") or {}
        return parse_bool(annotations.get(self._annotation, ""))

    def _is_ours(self, stored: Object) -> bool:
        marked = self._update_flag(stored)
        return marked if marked is not None else stored["metadata"].get("generation") == 1

    def _by_key(self, levels: Mapping[str, Spec], schemas: Mapping[str, Spec]) -> dict[str, Spec]:
        version = self._version
        specs = {f"{version}/{LEVELS}/{name}": spec for name, spec in levels.items()}
        return specs | {f"{version}/{SCHEMAS}/{name}": spec for name, spec in schemas.items()}
