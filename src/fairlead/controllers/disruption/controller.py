"""Maintains the status of PodDisruptionBudgets: how many of their pods may be evicted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from fairlead.controllers.disruption.scales import (
    DEPLOYMENTS,
    REPLICA_SETS,
    BudgetPod,
    NoController,
    Scales,
    UnknownScale,
    read_pod,
)
from fairlead.controllers.disruption.status import (
    Counts,
    counts_of,
    described,
    disrupted,
    failed,
    scales,
)
from fairlead.controllers.events import NORMAL, WARNING, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.pod_members import PODS, SelectedPods
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.operations.eviction import BUDGETS
from fairlead.resources.custom.definition import DEFINITIONS
from fairlead.storage.version import Change

WORKLOADS = (
    REPLICA_SETS,
    DEPLOYMENTS,
    "apps/v1/statefulsets",
    "core/v1/replicationcontrollers",
)


class Disruption:
    """Keys are `namespace/name` of budgets."""

    workers = 1

    def __init__(self, api: Api, objects: Client, recorder: Recorder) -> None:
        self._objects = objects
        self._recorder = recorder
        self._budgets = api.resources.named(BUDGETS)
        self._pods = api.resources.named(PODS)
        self._scales = Scales(api)
        self._members: SelectedPods[BudgetPod] = SelectedPods(
            objects.collection(PODS), lambda budget: budget["spec"].get("selector"), read_pod
        )
        self._scaling: set[str] = set()  # budgets that depend on the scale of controllers
        self._failing: set[str] = set()
        self._written: dict[str, int] = {}  # revisions of own writes

    def follows(self) -> Mapping[str, Keys]:
        return {
            BUDGETS: self._changed_budget,
            PODS: self._changed_pod,
            DEFINITIONS: lambda change: list(self._failing),
            **dict.fromkeys(WORKLOADS, self._measured_by),
        }

    def _changed_budget(self, change: Change) -> Iterable[str]:
        keys = self._members.owner_changed(change)
        self._scaling.discard(change.key)
        if change.after is not None and scales(change.after.object()["spec"]):
            self._scaling.add(change.key)
        own = self._written.pop(change.key, None)
        return () if own == change.revision else keys

    def _changed_pod(self, change: Change) -> Iterator[str | None]:
        yield from self._members.pod_changed(change)
        pod, budgets = change.after or change.before, self._members.selecting
        if pod is not None and len(budgets) > 1:
            self._report_many(pod.object(), min(budgets).partition("/")[2])

    def _measured_by(self, change: Change) -> Iterable[str]:
        """The budgets that a resized workload may affect."""
        prefix = f"{change.namespace}/"
        keys = [key for key in self._scaling if key.startswith(prefix)]
        if not keys or change.before is None or change.after is None:
            return keys
        sizes = {
            version.object()["spec"].get("replicas") for version in (change.before, change.after)
        }
        return keys if len(sizes) > 1 else ()

    async def sync(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        budget = self._objects.find(BUDGETS, namespace, name)
        if budget is None:
            self._failing.discard(key)
            return None
        pods = await self._members.of(key)
        if not pods:
            self._record(budget, NORMAL, "NoPods", "No matching pods found")
        expected = partial(self._scales.expected, namespace, pods)
        try:
            counts = counts_of(budget["spec"], len(pods), expected)
        except UnknownScale as error:
            self._failing.add(key)
            await self._fail(key, budget, error)
            return None
        self._failing.discard(key)
        return await self._write(key, budget, pods, counts)

    async def _write(
        self, key: str, budget: Object, pods: list[BudgetPod], counts: Counts
    ) -> float | None:
        """Returns the seconds until an evicted pod that still exists counts again."""
        evicted = disrupted(budget["status"], pods)
        for name in evicted.overdue:
            self._report_overdue(budget, name)

        def updated(current: Object) -> Object:
            going = disrupted(current["status"], pods).going
            return {**current, "status": described(current, pods, counts, going)}

        if updated(budget) != budget:
            await self._change(key, budget, updated)
        return evicted.look_again

    async def _fail(self, key: str, budget: Object, error: UnknownScale) -> None:
        text = str(error)
        if isinstance(error, NoController):
            self._record(budget, WARNING, "NoControllers", text)
        message = f"Failed to calculate the number of expected pods: {text}"
        self._record(budget, WARNING, "CalculateExpectedPodCountFailed", message)

        def updated(current: Object) -> Object:
            return {**current, "status": failed(current, text)}

        if updated(budget) != budget:
            await self._change(key, budget, updated)

    async def _change(self, key: str, budget: Object, change: Callable[[Object], Object]) -> None:
        metadata = budget["metadata"]
        written = await self._objects.change(
            BUDGETS, metadata["namespace"], metadata["name"], change, "status"
        )
        self._written[key] = int(written["metadata"]["resourceVersion"])

    def _record(self, budget: Object, kind: str, reason: str, text: str) -> None:
        self._recorder.record(self._budgets, budget, kind, reason, text)

    def _report_many(self, pod: Object, chosen: str) -> None:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        text = f'Pod "{namespace}"/"{name}" matches multiple PodDisruptionBudgets.'
        text += f'  Chose "{chosen}" arbitrarily.'
        self._recorder.record(self._pods, pod, WARNING, "MultiplePodDisruptionBudgets", text)

    def _report_overdue(self, budget: Object, name: str) -> None:
        metadata = budget["metadata"]
        pod = self._objects.find(PODS, metadata["namespace"], name)
        if pod is not None:
            key = f"{metadata['namespace']}/{metadata['name']}"
            text = f"Pod was expected by PDB {key} to be deleted but it wasn't"
            self._recorder.record(self._pods, pod, WARNING, "NotDeleted", text)
