"""The remaining content of a namespace that is being deleted, and its status conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from fairlead.auth.authentication.user import User
from fairlead.base.errors import StatusError
from fairlead.codec.types.times import now
from fairlead.operations.api import Object


@dataclass(slots=True)
class Remains:
    """The outcome of one attempt to empty a namespace.

    `objects` and `finalizers` count what remains, by `resource.group` and by finalizer; `failures`
    are errors of deletes. `elsewhere` counts objects on aggregated servers; `undiscovered` maps
    group versions whose discovery failed to the error.
    """

    objects: Counter[str] = field(default_factory=Counter)
    finalizers: Counter[str] = field(default_factory=Counter)
    failures: list[StatusError] = field(default_factory=list)
    elsewhere: int = 0
    undiscovered: dict[str, str] = field(default_factory=dict)

    def failure(self) -> StatusError | None:
        """An error because of which the counts are incomplete, if there was one."""
        if self.undiscovered:
            return StatusError(503, "ServiceUnavailable", self._discovery_failure())
        return self.failures[0] if self.failures else None

    def _discovery_failure(self) -> str:
        if not self.undiscovered:
            return ""
        listed = ", ".join(sorted(f"{name}: {why}" for name, why in self.undiscovered.items()))
        return (
            f"Discovery failed for some groups, {len(self.undiscovered)} failing: unable to"
            f" retrieve the complete list of server APIs: {listed}"
        )

    def _conditions(self) -> Iterator[Object]:
        yield _condition(
            "NamespaceDeletionDiscoveryFailure",
            self._discovery_failure(),
            ("DiscoveryFailed", "ResourcesDiscovered"),
            "All resources successfully discovered",
        )
        yield _condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            "",
            ("GroupVersionParsingFailed", "ParsedGroupVersions"),
            "All legacy kube types successfully parsed",
        )
        failures = sorted(map(str, self.failures))
        yield _condition(
            "NamespaceDeletionContentFailure",
            f"Failed to delete all resource types, {len(failures)} remaining: {', '.join(failures)}"
            if failures
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

    def with_conditions(self, namespace: Object) -> Object:
        """The namespace with up-to-date conditions. An unchanged condition keeps its transition
        time, and conditions of other types stay."""
        status = namespace["status"]
        conditions = {condition["type"]: condition for condition in status.get("conditions") or ()}
        for new in self._conditions():
            old = conditions.get(new["type"])
            if old is not None and old["status"] == new["status"]:
                new["lastTransitionTime"] = old.get("lastTransitionTime") or now()
            conditions[new["type"]] = new
        return {**namespace, "status": {**status, "conditions": list(conditions.values())}}


def _listed(what: str, counts: Counter[str], form: str) -> str:
    parts = sorted(form.format(name, count) for name, count in counts.items())
    return what + ", ".join(parts) if parts else ""


def _condition(kind: str, problem: str, reasons: tuple[str, str], fine: str) -> Object:
    """A condition that is True with the first reason if there is a problem, else False with the
    second."""
    return {
        "type": kind,
        "status": "True" if problem else "False",
        "lastTransitionTime": now(),
        "reason": reasons[0 if problem else 1],
        "message": problem or fine,
    }


# Resources of aggregated servers, for controllers that handle every resource.

API_SERVICES = "apiregistration/v1/apiservices"


class RemoteResources(Protocol):
    """The resources that aggregated servers behind this one serve."""

    def serves(self, group: str, version: str) -> bool:
        """Whether an aggregated server serves this group version."""

    async def empty(self, user: User, namespace: str, remains: Remains) -> None:
        """Delete the content of a namespace there as `user`; adds remaining objects and errors to
        `remains`."""


class NoRemoteResources:
    """Without aggregation: every resource is local."""

    def serves(self, group: str, version: str) -> bool:
        return False

    async def empty(self, user: User, namespace: str, remains: Remains) -> None:
        pass
