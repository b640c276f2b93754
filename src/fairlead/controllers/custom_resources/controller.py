"""Reconciles CustomResourceDefinitions: accepted names, conditions and deletion."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from fairlead.base import clock
from fairlead.base.errors import StatusError
from fairlead.codec.types.times import parse_time
from fairlead.controllers.framework import Follow, Keys, Unfollow
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.resources.apiextensions import approval as apiextensions_approval
from fairlead.resources.apiextensions.conditions import (
    APPROVED,
    CLEANUP,
    ESTABLISHED,
    NAMES_ACCEPTED,
    NON_STRUCTURAL,
    TERMINATING,
    condition,
    drop_condition,
    is_true,
    set_condition,
)
from fairlead.resources.custom.definition import Definition
from fairlead.resources.custom.registry import DEFINITIONS, Registry
from fairlead.storage.version import Change

_POLL_INTERVAL = 1.0  # polling interval if the objects are not served and cannot be watched
_REMOVAL_TIMEOUT = 60.0  # seconds until remaining objects are reported as a failure


class DefinitionController:
    """Keys are names of definitions."""

    name = "customresourcedefinition-controller"
    workers = 2

    def __init__(self, api: Api, registry: Registry, client: Client) -> None:
        self._api = api
        self._registry = registry
        self._client = client
        self._cleanup = api.dialect.group_name(CLEANUP)
        # Definitions being deleted whose objects are watched.
        self._ending: dict[str, Unfollow] = {}
        self._follow: Follow

    def grow_by(self, follow: Follow) -> None:
        self._follow = follow

    def follows(self) -> Mapping[str, Keys]:
        return {DEFINITIONS: self._concerned}

    def _concerned(self, change: Change) -> Iterable[str]:
        """The definition, and those of its group with unaccepted names: it may have released
        them."""
        group = change.name.partition(".")[2]
        others = (
            definition
            for definition in self._registry.of_group(group)
            if not definition.names_accepted
        )
        return {change.name, *(definition.name for definition in others)}

    async def sync(self, key: str) -> float | None:
        # Yield to the event loop: there may be thousands, and most need no work.
        await asyncio.sleep(0)
        value = self._client.find(DEFINITIONS, "", key)
        if value is None:
            self._unfollow(key)
            return None
        if value["metadata"].get("deletionTimestamp"):
            return await self._finalize(value)
        described = self._described(value)
        if described["status"] != value["status"]:
            await self._write(key, self._described)
        return None

    def _described(self, current: Object) -> Object:
        """The definition with up-to-date names and conditions."""
        value = {**current}
        group, name = value["spec"]["group"], value["metadata"]["name"]
        used_names = UsedNames(*self._registry.builtin_names(group))
        used_names.add(other for other in self._registry.of_group(group) if other.name != name)
        accept_names(value, used_names)
        approved = apiextensions_approval.approval(value, self._api.dialect)
        if approved is None:
            drop_condition(value, APPROVED)
        else:
            set_condition(value, condition(APPROVED, *approved))
        if value["spec"].get("preserveUnknownFields"):
            # Validation checks the other rules; an older server may have accepted this one.
            why = "spec.preserveUnknownFields: Invalid value: true: must be false"
            set_condition(value, condition(NON_STRUCTURAL, True, "Violations", why))
        else:
            drop_condition(value, NON_STRUCTURAL)
        return value

    async def _write(self, name: str, change: Callable[[Object], Object]) -> None:
        await self._client.change(DEFINITIONS, "", name, change, "status")

    async def _finalize(self, value: Object) -> float | None:
        """Delete the objects; remove the finalizer when none are left. Returns the seconds until
        the next check."""
        name = value["metadata"]["name"]
        if self._cleanup not in (value["metadata"].get("finalizers") or ()):
            return None
        if not is_true(value, ESTABLISHED):
            await self._finish(name, "NeverEstablished", "resource was never established")
            return None
        problem = await self._delete_objects(name)
        is_followed = self._follow_objects(name)
        if self._is_empty(name):
            await self._finish(name, "InstanceDeletionCompleted", "removed all instances")
            return None
        pause = _POLL_INTERVAL if problem or not is_followed else None
        patience = _REMOVAL_TIMEOUT - _seconds_since(value)
        if not problem and patience <= 0:
            problem = (
                "could not confirm zero CustomResources remaining: timed out waiting for the"
                " condition"
            )
        reason, message = "InstanceDeletionInProgress", "CustomResource deletion is in progress"
        if problem:
            reason, message = "InstanceDeletionFailed", problem
        await self._write_condition(name, reason, message)
        return patience if pause is None and patience > 0 else pause

    def _follow_objects(self, name: str) -> bool:
        """Subscribe to the objects to notice the last delete; False if they are not served."""
        self._unfollow(name)
        resource = self._registry.storage_resource(name)
        if resource is None or not self._api.resources.serves(resource.key):
            return False

        collection = self._api.collection(resource)

        def emptied(change: Change) -> Iterable[str]:
            return (name,) if not len(collection) else ()

        self._ending[name] = self._follow(resource.key, emptied, replay=False)
        return True

    def _unfollow(self, name: str) -> None:
        unfollow = self._ending.pop(name, None)
        if unfollow is not None:
            unfollow()

    def _is_empty(self, name: str) -> bool:
        resource = self._registry.storage_resource(name)
        return resource is None or not len(self._api.collection(resource))

    async def _delete_objects(self, name: str) -> str:
        """Delete objects that are not being deleted yet; returns an error text or ""."""
        resource = self._registry.storage_resource(name)
        if resource is None:
            return ""
        versions = self._api.collection(resource).current("")
        if all(version.object()["metadata"].get("deletionTimestamp") for version in versions):
            return ""
        try:
            await self._client.delete_collection(resource.key, "", DeleteOptions())
        except StatusError as error:
            return f"could not issue all deletes: {error}"
        return ""

    async def _write_condition(self, name: str, reason: str, message: str) -> None:
        def change(current: Object) -> Object:
            value = {**current}
            set_condition(value, condition(TERMINATING, True, reason, message))
            return value

        await self._write(name, change)

    async def _finish(self, name: str, reason: str, message: str) -> None:
        def change(current: Object) -> Object:
            value = {**current}
            set_condition(value, condition(TERMINATING, False, reason, message))
            finalizers = value["metadata"].get("finalizers") or ()
            left = [finalizer for finalizer in finalizers if finalizer != self._cleanup]
            return {**value, "metadata": {**value["metadata"], "finalizers": left}}

        await self._write(name, change)


def _seconds_since(value: Object) -> float:
    marked = parse_time(value["metadata"]["deletionTimestamp"])
    return (clock.now() - marked).total_seconds()


# Accepted names and the conditions about them.


@dataclass(slots=True)
class UsedNames:
    """Names that others in the group use."""

    resources: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)

    def add(self, others: Iterable[Definition]) -> None:
        for other in others:
            self.resources |= {other.plural, other.singular, *other.short_names}
            self.kinds |= {other.kind, other.list_kind}
        self.resources.discard("")  # of definitions without accepted names
        self.kinds.discard("")


def accept_names(value: Object, used_names: UsedNames) -> None:
    """Accept the requested names that are free, and set the conditions."""
    requested, has = value["spec"]["names"], value["status"]["acceptedNames"]
    names, refusal = dict(has), ("NoConflicts", "no conflicts found")
    for name, reason, others in (
        ("plural", "PluralConflict", used_names.resources),
        ("singular", "SingularConflict", used_names.resources),
        ("shortNames", "ShortNamesConflict", used_names.resources),
        ("kind", "KindConflict", used_names.kinds),
        ("listKind", "ListKindConflict", used_names.kinds),
    ):
        conflicts = _conflicts(requested.get(name), has.get(name), others)
        if conflicts:
            refusal = (reason, conflicts[0] if len(conflicts) == 1 else f"[{', '.join(conflicts)}]")
        else:
            _copy(names, requested, name)
    _copy(names, requested, "categories")
    value["status"] = {**value["status"], "acceptedNames": names}
    accepted = refusal[0] == "NoConflicts"
    set_condition(value, condition(NAMES_ACCEPTED, accepted, *refusal))
    _establish(value, accepted)


def _copy(accepted: Object, requested: Object, name: str) -> None:
    if name in requested:
        accepted[name] = requested[name]
    else:
        accepted.pop(name, None)


def _conflicts(
    requested: str | list[str] | None, has: str | list[str] | None, others: set[str]
) -> list[str]:
    own = has if isinstance(has, list) else [has]
    names = requested if isinstance(requested, list) else [requested]
    return [f'"{name}" is already in use' for name in names if name not in own and name in others]


def _establish(value: Object, accepted: bool) -> None:
    """An established definition stays established, since it may have objects."""
    if is_true(value, ESTABLISHED):
        return
    if accepted:
        reason, message = "InitialNamesAccepted", "the initial names have been accepted"
    else:
        reason, message = "NotAccepted", "not all names are accepted"
    set_condition(value, condition(ESTABLISHED, accepted, reason, message))
