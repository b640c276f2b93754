"""Sets the condition Dangling of flow schemas: whether their priority level exists."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from fairlead.base.errors import StatusError
from fairlead.controllers.flow_control.objects import LEVELS, SCHEMAS
from fairlead.controllers.framework import Keys
from fairlead.controllers.workloads.statuses import condition, find_condition, without_condition
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.flowcontrol.bootstrap import stored_version
from fairlead.resources.gates import Gates
from fairlead.storage.version import Change

MANAGER = "api-priority-and-fairness-config-consumer-v1"
_KIND = "Dangling"
_COMPARED = ("status", "reason", "message")


class DanglingSchemas:
    """Keys are names of flow schemas."""

    name = "priority-and-fairness-config-consumer"
    workers = 1

    def __init__(self, objects: Client, gates: Gates) -> None:
        self._objects = objects
        self._applies = gates["FlowSchemaConditionsApplied"]
        version = stored_version(gates.release)
        self._schemas, self._levels = f"{version}/{SCHEMAS}", f"{version}/{LEVELS}"
        self._level_of: dict[str, str] = {}
        self._schemas_of: defaultdict[str, set[str]] = defaultdict(set)

    def follows(self) -> Mapping[str, Keys]:
        return {self._schemas: self._schema, self._levels: self._schemas_of_level}

    def _schema(self, change: Change) -> Iterable[str]:
        name = change.name
        before = self._level_of.pop(name, None)
        if before is not None:
            self._schemas_of[before].discard(name)
            if not self._schemas_of[before]:
                del self._schemas_of[before]
        if change.after is None:
            return ()
        level = self._level_of[name] = _level_of(change.after.object())
        self._schemas_of[level].add(name)
        return (name,)

    def _schemas_of_level(self, change: Change) -> Iterable[str]:
        """The schemas of a level that was created or deleted. Changes of its content do not
        matter."""
        if change.before is not None and change.after is not None:
            return ()
        return tuple(self._schemas_of.get(change.name, ()))

    async def sync(self, key: str) -> None:
        schema = self._objects.find(self._schemas, "", key)
        new = self._new_condition(schema) if schema is not None else None
        if new is None:
            return
        if not self._applies:
            await self._objects.change(self._schemas, "", key, self._change, "status")
            return
        value = {"metadata": {"name": key}, "status": {"conditions": [new]}}
        try:
            await self._objects.apply(self._schemas, value, subresource="status")
        except StatusError as error:
            if error.reason != "NotFound":
                raise

    def _change(self, schema: Object) -> Object:
        """Set the condition in the newest version of a schema, if it differs."""
        new = self._new_condition(schema)
        if new is None:
            return schema
        status = schema.get("status") or {}
        conditions = [*without_condition(status.get("conditions") or [], _KIND), new]
        return {**schema, "status": {**status, "conditions": conditions}}

    def _new_condition(self, schema: Object) -> Object | None:
        """The new condition, or None if it is up to date."""
        level = _level_of(schema)
        text = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}"'
        if self._objects.find(self._levels, "", level) is not None:
            new = condition(_KIND, "False", "Found", f"{text} and it exists")
        else:
            new = condition(_KIND, "True", "NotFound", f"{text} but there is no such object")
        conditions = (schema.get("status") or {}).get("conditions") or []
        old = find_condition(conditions, _KIND) or {}
        return None if all(old.get(name) == new[name] for name in _COMPARED) else new


def _level_of(schema: Object) -> str:
    name: str = schema["spec"]["priorityLevelConfiguration"]["name"]
    return name
