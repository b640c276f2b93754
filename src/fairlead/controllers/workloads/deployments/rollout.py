"""One sync of a Deployment: the next step of its rollout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fairlead.controllers.workloads.deployments import progress, steps
from fairlead.controllers.workloads.deployments import replica_sets as sets
from fairlead.controllers.workloads.deployments.replica_sets import same_template
from fairlead.controllers.workloads.deployments.revisions import Revisions
from fairlead.controllers.workloads.deployments.writes import ReplicaSetWriter
from fairlead.controllers.workloads.pods import Pod
from fairlead.operations.api import Object
from fairlead.resources.core.pods import FINISHED

_EVERY_REVISION = 2**31 - 1


class Rollout:
    """`deployment` is a copy whose status and annotations collect the changes; `new` is the
    ReplicaSet of its template or None, `old` are all others."""

    def __init__(
        self,
        deployment: Object,
        replica_sets: Sequence[Object],
        writer: ReplicaSetWriter,
        revisions: Revisions,
        *,
        with_terminating: bool,
    ) -> None:
        self.deployment = deployment
        self._writer = writer
        self._revisions = revisions
        self._with_terminating = with_terminating  # count terminating pods in the status
        template = deployment["spec"]["template"]
        alike = (
            replica_set
            for replica_set in sets.by_age(replica_sets)
            if same_template(replica_set["spec"]["template"], template)
        )
        self.new: Object | None = next(alike, None)
        self.old = [
            replica_set for replica_set in sets.by_age(replica_sets) if replica_set is not self.new
        ]

    @property
    def everything(self) -> list[Object]:
        return [*self.old, *([self.new] if self.new else [])]

    async def number(self) -> None:
        """Give the new ReplicaSet, if it exists, the latest revision."""
        if self.new is not None:
            self.new = await self._revisions.adopt_current(self.deployment, self.new, self.old)

    async def _have_new(self) -> Object:
        if self.new is None:
            self.new = await self._revisions.make(self.deployment, self.old)
        return self.new

    @property
    def is_resized(self) -> bool:
        """Whether spec.replicas changed since the ReplicaSets were last sized."""
        desired = self.deployment["spec"].get("replicas") or 0
        recorded = map(self._writer.annotations.desired_replicas, sets.active(self.everything))
        return any(size is not None and size != desired for size in recorded)

    async def roll(self) -> None:
        """One step of a rolling update: scale up, else scale down."""
        new = await self._have_new()
        limits = steps.limits_of(self.deployment)
        size = sets.desired_size(new)
        if size > limits.replicas:
            target = limits.replicas
        else:
            target = steps.new_size(limits, self.everything, size)
        if target != size:
            self.new = await self._writer.resize(self.deployment, new, target)
        elif not await self._shrink_old(limits, new):
            await self._finish()
        self.report_progress()

    async def _shrink_old(self, limits: steps.Limits, new: Object) -> bool:
        """Scale down old ReplicaSets: first unavailable pods, then as many as availability allows.
        Returns whether any changed."""
        old = sets.active(self.old)
        maximum = steps.removable(limits, self.everything, new)
        if not old or maximum <= 0:
            return False
        sizes = steps.without_unhealthy(old, maximum)
        spare = sets.count("availableReplicas", self.everything) - limits.min_available
        return await self._resize_old(old, steps.scaled_down(sizes, max(0, spare)))

    async def _resize_old(self, old: Sequence[Object], sizes: Iterable[int]) -> bool:
        changed = False
        for replica_set, size in zip(old, sizes, strict=True):
            if size != sets.desired_size(replica_set):
                self._replace(
                    replica_set, await self._writer.resize(self.deployment, replica_set, size)
                )
                changed = True
        return changed

    def _replace(self, old: Object, by: Object) -> None:
        if old is self.new:
            self.new = by
        self.old = [by if replica_set is old else replica_set for replica_set in self.old]

    async def recreate(self, pods: Iterable[Pod]) -> None:
        """Strategy Recreate: create new pods after all old ones are gone. `pods` are those of the
        old ReplicaSets."""
        old = sets.active(self.old)
        if not await self._resize_old(old, [0] * len(old)) and not self._still_run(pods):
            new = await self._have_new()
            desired = self.deployment["spec"].get("replicas") or 0
            if sets.desired_size(new) != desired:
                self.new = await self._writer.resize(self.deployment, new, desired)
            await self._finish()
        self.report_progress()

    def _still_run(self, pods: Iterable[Pod]) -> bool:
        if sets.count("replicas", self.old):
            return True
        return any(pod.phase not in FINISHED for pod in pods)

    async def resize(self) -> None:
        """Scale the ReplicaSets to the Deployment's size without continuing the rollout."""
        limits = steps.limits_of(self.deployment)
        only = sets.active_or_latest(self.new, self.old)
        if only is not None:
            if sets.desired_size(only) != limits.replicas:
                by = await self._writer.resize(self.deployment, only, limits.replicas)
                self._replace(only, by)
        elif self._is_saturated(limits.replicas):
            old = sets.active(self.old)
            await self._resize_old(old, [0] * len(old))
        elif limits.rolling:
            annotations = self._writer.annotations
            for replica_set, size in steps.scale_proportionally(
                self.deployment, self.everything, annotations
            ):
                self._replace(
                    replica_set, await self._writer.resize(self.deployment, replica_set, size)
                )
        if self.deployment["spec"].get("paused") and not self._wants_rollback:
            await self._clean_up()
        self.report_counts()

    @property
    def _wants_rollback(self) -> bool:
        return self._writer.annotations.rollback_of(self.deployment) is not None

    def _is_saturated(self, replicas: int) -> bool:
        """Whether the new ReplicaSet has all replicas available."""
        if self.new is None or sets.desired_size(self.new) != replicas:
            return False
        desired = self._writer.annotations.desired_replicas(self.new)
        return desired == replicas == sets.count("availableReplicas", [self.new])

    async def _finish(self) -> None:
        if progress.is_complete(self.deployment, self.deployment["status"]):
            await self._clean_up()

    async def _clean_up(self) -> None:
        """Delete the oldest idle ReplicaSets beyond revisionHistoryLimit."""
        limit = self.deployment["spec"].get("revisionHistoryLimit")
        if limit is None or limit == _EVERY_REVISION:
            return
        revision_of = self._writer.annotations.revision_of
        alive = [
            replica_set
            for replica_set in self.old
            if replica_set["metadata"].get("deletionTimestamp") is None
        ]
        alive.sort(key=lambda replica_set: (revision_of(replica_set), sets.age_order(replica_set)))
        for surplus in alive[: max(0, len(alive) - limit)]:
            if sets.is_idle(surplus):
                await self._writer.delete(surplus)

    def report_counts(self) -> None:
        self.deployment["status"] = self._reported(progress.counted)

    def report_progress(self) -> None:
        self.deployment["status"] = self._reported(progress.rolled_out)

    def _reported(self, report: Callable[..., Object]) -> Object:
        terminating = self._with_terminating
        return report(self.deployment, self.new, self.old, with_terminating=terminating)
