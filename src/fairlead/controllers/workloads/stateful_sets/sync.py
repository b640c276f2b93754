"""One sync of a StatefulSet: the steps that are possible now.

With OrderedReady there is at most one step, and none while an earlier pod is not ready. That also
holds if a broken template blocks the pod and the new template would fix it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial

from fairlead.controllers.workloads.batches import run_all, run_growing
from fairlead.controllers.workloads.pods import Pod
from fairlead.controllers.workloads.replicas import resolved
from fairlead.controllers.workloads.stateful_sets.identity import (
    REVISION_LABEL,
    ordinal_of,
    wanted_ordinals,
)
from fairlead.controllers.workloads.stateful_sets.members import Members
from fairlead.operations.api import Object

_BURST = 500  # pods created per sync


def by_ordinal(owner: Object, pods: Iterable[Pod]) -> dict[int, Pod]:
    """The pods of a set, sorted by ordinal."""
    placed = ((ordinal_of(owner, pod), pod) for pod in pods)
    return dict(sorted((ordinal, pod) for ordinal, pod in placed if ordinal is not None))


class SetSync:
    """`former` returns the set with the template of its current revision. `min_ready` are the
    seconds until a ready pod is available. `several` enables maxUnavailable."""

    def __init__(
        self,
        owner: Object,
        former: Callable[[], Object],
        revisions: Revisions,
        pods: Iterable[Pod],
        members: Members,
        *,
        min_ready: int,
        several: bool,
    ) -> None:
        self._owner = owner
        self._former = former
        self._revisions = revisions
        self._members = members
        self._min_ready = min_ready
        self._several = several
        self._replicas: int = owner["spec"].get("replicas") or 0
        self._ordered = owner["spec"].get("podManagementPolicy") != "Parallel"
        strategy = owner["spec"]["updateStrategy"]
        self._rolls = strategy.get("type") == "RollingUpdate"
        self._steps: Object | None = strategy.get("rollingUpdate")
        self._wanted = wanted_ordinals(owner)
        # The ordinal below which pods keep the previous template.
        partition: int = (self._steps or {}).get("partition") or 0
        self._partition = self._wanted.start + partition
        placed = by_ordinal(owner, pods)
        self._desired = {ordinal: pod for ordinal, pod in placed.items() if ordinal in self._wanted}
        self._surplus = {
            ordinal: pod for ordinal, pod in placed.items() if ordinal not in self._wanted
        }

    async def take_steps(self) -> None:
        """Raises StatusError if a step fails."""
        if await self._keep() and await self._shrink() and self._rolls:
            await self._roll()

    async def _keep(self) -> bool:
        """Create missing pods and repair others; returns whether the next phase may start."""
        missing = []
        for ordinal in self._wanted:
            pod = self._desired.get(ordinal)
            if pod is None or await self._is_replaced(pod):
                missing.append(ordinal)
                if self._ordered or len(missing) == _BURST:
                    break
            elif self._ordered and not self._is_settled(pod):
                return False
            elif not pod.deleting:
                await self._members.correct(self._owner, ordinal, pod)
        await run_growing([partial(self._make, ordinal) for ordinal in missing])
        return not missing

    async def _is_replaced(self, pod: Pod) -> bool:
        return pod.phase == "Failed" and await self._members.replace_failed(self._owner, pod)

    def _is_settled(self, pod: Pod) -> bool:
        return pod.healthy and pod.available(self._min_ready)

    async def _make(self, ordinal: int) -> None:
        if self._is_held_back(ordinal):
            await self._members.create(self._former(), ordinal, self._revisions.current)
        else:
            await self._members.create(self._owner, ordinal, self._revisions.updated)

    def _is_held_back(self, ordinal: int) -> bool:
        """Whether a pod is created from the previous template: below the partition, or without
        rollingUpdate settings below currentReplicas."""
        if not self._rolls:
            return False
        if self._steps is None:
            before: int = (self._owner.get("status") or {}).get("currentReplicas") or 0
            return ordinal < self._wanted.start + before
        return ordinal < self._partition

    async def _shrink(self) -> bool:
        """Delete surplus pods, highest ordinal first; returns whether the next phase may start."""
        for ordinal, pod in self._surplus.items():
            await self._members.own_claims(self._owner, ordinal, pod)
        going = [pod for _, pod in sorted(self._surplus.items(), reverse=True)]
        if not self._ordered:
            await self._remove(pod for pod in going if not pod.deleting)
            return True
        if not going:
            return True
        last = going[0]
        unhealthy = [pod for pod in going if not pod.healthy]
        if not last.deleting and (self._is_settled(last) or unhealthy[-1:] == [last]):
            await self._members.remove(self._owner, last)
        return False

    async def _roll(self) -> None:
        """Delete outdated pods, highest ordinal first; the next sync creates them again."""
        descending = sorted(self._desired.items(), reverse=True)
        if not self._several:
            await self._replace_next(descending)
            return
        room = self._max_unavailable() - sum(not pod.healthy for pod in self._desired.values())
        outdated = [pod for ordinal, pod in descending if self._is_outdated(ordinal, pod)]
        await self._remove(outdated[: max(0, room)])

    async def _replace_next(self, descending: Iterable[tuple[int, Pod]]) -> None:
        for ordinal, pod in descending:
            if self._is_outdated(ordinal, pod):
                await self._members.remove(self._owner, pod)
                return
            if ordinal < self._partition or not pod.healthy:
                return

    def _is_outdated(self, ordinal: int, pod: Pod) -> bool:
        if ordinal < self._partition or pod.deleting:
            return False
        return pod.labels.get(REVISION_LABEL) != self._revisions.updated

    def _max_unavailable(self) -> int:
        limit = (self._steps or {}).get("maxUnavailable")
        return max(1, resolved(1 if limit is None else limit, self._replicas, up=True))

    async def _remove(self, pods: Iterable[Pod]) -> None:
        for failure in await run_all([partial(self._members.remove, self._owner, p) for p in pods]):
            raise failure


# The status of a StatefulSet.


@dataclass(frozen=True, slots=True)
class Revisions:
    """Names of the current and the update revision, and the number of name collisions."""

    current: str
    updated: str
    collisions: int


def status(owner: Object, pods: Collection[Pod], revisions: Revisions, min_ready: int) -> Object:
    """The status for these pods. When all pods are updated the update revision becomes the current
    one."""
    current, updated = revisions.current, revisions.updated
    ready = [pod for pod in pods if pod.running_and_ready]
    labels = [pod.labels.get(REVISION_LABEL) for pod in pods if not pod.deleting]
    counts = {
        "readyReplicas": len(ready),
        "currentReplicas": labels.count(current),
        "updatedReplicas": labels.count(updated),
    }
    rolls = owner["spec"]["updateStrategy"].get("type") == "RollingUpdate"
    complete = len(pods) >= (owner["spec"].get("replicas") or 0)
    if rolls and complete and counts["updatedReplicas"] == counts["readyReplicas"] == len(pods):
        current, counts["currentReplicas"] = updated, counts["updatedReplicas"]
    names = {"currentRevision": current, "updateRevision": updated}
    return {
        "observedGeneration": owner["metadata"].get("generation", 0),
        "replicas": len(pods),
        "availableReplicas": sum(pod.available(min_ready) for pod in ready),
        "collisionCount": revisions.collisions,
        **{name: count for name, count in counts.items() if count},
        **{name: text for name, text in names.items() if text},
    }
