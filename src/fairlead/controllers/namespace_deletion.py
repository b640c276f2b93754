"""A namespace that is being deleted is emptied, and goes when it is empty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fairlead.controllers.framework import Keys
from fairlead.controllers.namespaces import NAMESPACES, name_of
from fairlead.errors import StatusError
from fairlead.kinds.core.namespaces import CONTENT_FINALIZER
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.schema.times import now

_LOOK_AGAIN = 0.5
_BACKGROUND = DeleteOptions(propagation="Background")


@dataclass(slots=True)
class Remains:
    """What is still in a namespace: objects by resource, finalizers that hold some of them, and
    what went wrong."""

    objects: Counter[str] = field(default_factory=Counter)
    finalizers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def conditions(self) -> Iterator[Object]:
        """What the namespace's status says of it."""
        yield _condition(
            "NamespaceDeletionDiscoveryFailure",
            "",
            ("", "ResourcesDiscovered"),
            "All resources successfully discovered",
        )
        yield _condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            "",
            ("", "ParsedGroupVersions"),
            "All legacy kube types successfully parsed",
        )
        yield _condition(
            "NamespaceDeletionContentFailure",
            f"Failed to delete all resource types, {len(self.failures)} remaining:"
            f" {', '.join(self.failures)}"
            if self.failures
            else "",
            ("ContentDeletionFailed", "ContentDeleted"),
            "All content successfully deleted, may be waiting on finalization",
        )
        yield _condition(
            "NamespaceContentRemaining",
            _listed("Some resources are remaining: ", self.objects, "{} has {} resource instances"),
            ("SomeResourcesRemain", "ContentRemoved"),
            "All content successfully removed",
        )
        yield _condition(
            "NamespaceFinalizersRemaining",
            _listed(
                "Some content in the namespace has finalizers remaining: ",
                self.finalizers,
                "{} in {} resource instances",
            ),
            ("SomeFinalizersRemain", "ContentHasNoFinalizers"),
            "All content-preserving finalizers finished",
        )


def _listed(what: str, counts: Counter[str], form: str) -> str:
    parts = [form.format(name, counts[name]) for name in sorted(counts)]
    return what + ", ".join(parts) if parts else ""


def _condition(kind: str, problem: str, reasons: tuple[str, str], fine: str) -> Object:
    """A condition that is true, with the first reason, if there is a problem."""
    return {
        "type": kind,
        "status": "True" if problem else "False",
        "lastTransitionTime": now(),
        "reason": reasons[0 if problem else 1],
        "message": problem or fine,
    }


class NamespaceDeletion:
    """Keys are names of namespaces. What finalizers or grace periods hold back is looked at again
    until it is gone."""

    name = "namespace-controller"
    workers = 2

    def __init__(self, api: Api, client: Client) -> None:
        self._api = api
        self._client = client

    def follows(self) -> Mapping[str, Keys]:
        return {NAMESPACES: name_of}

    async def sync(self, key: str) -> float | None:
        namespace = self._client.find(NAMESPACES, "", key)
        if namespace is None or not namespace["metadata"].get("deletionTimestamp"):
            return None
        if CONTENT_FINALIZER not in ((namespace.get("spec") or {}).get("finalizers") or ()):
            return None  # emptied already; somebody else holds it
        remains = await self._empty(key)
        if remains.objects or remains.failures:
            await self._tell(namespace, remains)
            return _LOOK_AGAIN
        await self._client.change(NAMESPACES, "", key, _finalized, "finalize")
        return None

    async def _empty(self, namespace: str) -> Remains:
        """Delete all content that is not on its way already; gives how much of it is left."""
        remains = Remains()
        for resource in self._api.resources.in_namespaces():
            collection = self._api.collection(resource)
            if any(not _is_going(version.object()) for version in collection.current(namespace)):
                try:
                    await self._client.delete_collection(resource.key, namespace, _BACKGROUND)
                except StatusError as error:
                    remains.failures.append(str(error))
            for version in collection.current(namespace):
                remains.objects[f"{resource.name}.{resource.group}"] += 1
                remains.finalizers.update(version.object()["metadata"].get("finalizers") or ())
        return remains

    async def _tell(self, namespace: Object, remains: Remains) -> None:
        """Say in the status what is left, where that is not said already."""
        known = {c["type"]: c for c in (namespace["status"].get("conditions") or ())}
        wanted = []
        for condition in remains.conditions():
            old = known.pop(condition["type"], {})
            if old.get("status") == condition["status"]:
                condition["lastTransitionTime"] = old["lastTransitionTime"]
            wanted.append(condition)
        conditions = [*known.values(), *wanted]
        if conditions == namespace["status"].get("conditions"):
            return

        def say(current: Object) -> Object:
            return {**current, "status": {**current["status"], "conditions": conditions}}

        name = namespace["metadata"]["name"]
        await self._client.change(NAMESPACES, "", name, say, "status")


def _is_going(value: Object) -> bool:
    return value["metadata"].get("deletionTimestamp") is not None


def _finalized(namespace: Object) -> Object:
    spec = namespace.get("spec") or {}
    left = [name for name in spec.get("finalizers") or () if name != CONTENT_FINALIZER]
    return {**namespace, "spec": {**spec, "finalizers": left}}
