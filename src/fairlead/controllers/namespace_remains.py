"""What is left in a namespace that is being deleted, and what its status says of that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Protocol

from fairlead.auth.authentication.user import User
from fairlead.base.errors import StatusError
from fairlead.base.records import dataclass, field
from fairlead.codec.types.times import now
from fairlead.operations.api import Object


@dataclass(slots=True)
class Remains:
    """Objects by resource and group, the finalizers that hold some of them, and what went wrong;
    `elsewhere` is how many of the objects other servers keep, and `undiscovered` why nobody knows
    what there is of some versions of groups."""

    objects: Counter[str] = field(default_factory=Counter)
    finalizers: Counter[str] = field(default_factory=Counter)
    failures: list[StatusError] = field(default_factory=list)
    elsewhere: int = 0
    undiscovered: dict[str, str] = field(default_factory=dict)

    def failure(self) -> StatusError | None:
        """Why there may be more than is known."""
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

    def told(self, namespace: Object) -> Object:
        """A namespace whose conditions say what is left. A condition keeps the time of its last
        turn, and those of other kinds stay as they are."""
        status = namespace["status"]
        conditions = {one["type"]: one for one in status.get("conditions") or ()}
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
    """A condition that is true, with the first reason, if there is a problem."""
    return {
        "type": kind,
        "status": "True" if problem else "False",
        "lastTransitionTime": now(),
        "reason": reasons[0 if problem else 1],
        "message": problem or fine,
    }


# What controllers that concern every resource ask about those that other servers serve.

API_SERVICES = "apiregistration/v1/apiservices"


class Elsewhere(Protocol):
    """The resources that are served by other servers behind this one."""

    def serves(self, group: str, version: str) -> bool:
        """Whether a version of a group is not this server's."""

    async def empty(self, user: User, namespace: str, remains: Remains) -> None:
        """Delete what lies in a namespace there, as a user, and note what is left and what went
        wrong."""


class NothingElsewhere:
    """All resources are this server's."""

    def serves(self, group: str, version: str) -> bool:
        return False

    async def empty(self, user: User, namespace: str, remains: Remains) -> None:
        pass
