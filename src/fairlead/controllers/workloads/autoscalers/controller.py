"""The controller of HorizontalPodAutoscalers.

Keeps the target's replicas between minReplicas and maxReplicas. Within the bounds resource metrics
decide if this server has metrics of pods (with simulated nodes). Without such metrics it reports
their absence, with the reference's messages for a cluster without a metrics server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairlead.base import clock
from fairlead.base.errors import StatusError, no_such_path
from fairlead.codec.types.times import now, parse_time
from fairlead.controllers.events import NORMAL, WARNING, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.workloads import statuses
from fairlead.controllers.workloads.autoscalers.metrics import Failure, Metrics, Proposal
from fairlead.controllers.workloads.autoscalers.replica_counts import tolerances
from fairlead.controllers.workloads.autoscalers.scaling_history import ScalingHistory
from fairlead.controllers.workloads.autoscalers.selectors import Selectors, UnusableSelectorError
from fairlead.controllers.workloads.autoscalers.target_pods import TargetPods
from fairlead.controllers.workloads.statuses import replace_status
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.resources.causes import quote
from fairlead.resources.registry import Resource
from fairlead.storage.selection import Selection

AUTOSCALERS = "autoscaling/v2/horizontalpodautoscalers"
ABLE, ACTIVE, LIMITED = "AbleToScale", "ScalingActive", "ScalingLimited"
_PERIOD = 15.0  # seconds between two evaluations of an autoscaler
_NO_SCALE = "the HPA controller was unable to get the target's current scale: "


class _NoTargetError(Exception):
    """The target does not exist or cannot be scaled."""


class Evaluation:
    """One evaluation of an autoscaler: collects its new status and events."""

    def __init__(self, value: Object) -> None:
        self.value = value
        self.spec: Object = value["spec"]
        self.namespace: str = value["metadata"]["namespace"]
        self.status: Object = {**(value.get("status") or {})}
        self.events: list[tuple[str, str, str]] = []
        self.metrics: list[Object] | None = None  # for the status

    def record_event(self, kind: str, reason: str, text: str) -> None:
        self.events.append((kind, reason, text))

    def set(self, kind: str, status: str, reason: str, text: str) -> None:
        """Set a condition in place; keeps its transition time if the status is unchanged."""
        conditions = self.status.get("conditions") or []
        old = statuses.find_condition(conditions, kind)
        new = statuses.condition(kind, status, reason, text)
        if old is not None and old["status"] == status and old.get("lastTransitionTime"):
            new["lastTransitionTime"] = old["lastTransitionTime"]
        if old is None:
            self.status["conditions"] = [*conditions, new]
        else:
            self.status["conditions"] = [
                new if condition is old else condition for condition in conditions
            ]

    def count(self, current: int, desired: int | None = None) -> None:
        """Set the replica counts; without `desired` the desired count stays."""
        self.status.pop("observedGeneration", None)
        self.status.pop("currentReplicas", None)
        if current:
            self.status["currentReplicas"] = current
        if desired is not None:
            self.status["desiredReplicas"] = desired
        if desired is not None or self.metrics is not None:
            self.status["currentMetrics"] = self.metrics


class Autoscalers:
    """Keys are `namespace/name` of autoscalers. Each is evaluated periodically, since its target
    may be of any kind and is not watched. `are_metrics_elsewhere`: whether an extension server has
    the metrics of pods."""

    workers = 1

    def __init__(
        self, api: Api, objects: Client, events: Recorder, are_metrics_elsewhere: Callable[[], bool]
    ) -> None:
        self._resources = api.resources
        self._resource = api.resources.named(AUTOSCALERS)
        self._objects = objects
        self._events = events
        self._metrics = Metrics(api.dialect)
        self._selectors = Selectors(api, objects)
        self._pods = TargetPods(api, are_metrics_elsewhere)
        self._due: dict[str, float] = {}
        self._history: dict[str, ScalingHistory] = {}

    def follows(self) -> Mapping[str, Keys]:
        return {AUTOSCALERS: lambda change: (change.key,)}

    async def sync(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        value = self._objects.find(AUTOSCALERS, namespace, name)
        if value is None:
            self._due.pop(key, None)
            self._history.pop(key, None)
            self._selectors.forget(namespace, name)
            return None
        moment, created = clock.time(), value["metadata"]["creationTimestamp"]
        due = self._due.get(key) or parse_time(created).timestamp() + _PERIOD
        if moment < due:
            return due - moment
        self._due[key] = moment + _PERIOD
        evaluation = Evaluation(value)
        await self._scale(evaluation)
        await self._write_status(evaluation)
        return _PERIOD

    async def _write_status(self, evaluation: Evaluation) -> None:
        for kind, reason, text in evaluation.events:
            self._events.record(self._resource, evaluation.value, kind, reason, text)
        if evaluation.status != (evaluation.value.get("status") or {}):
            await replace_status(self._objects, self._resource, evaluation.value, evaluation.status)

    async def _scale(self, evaluation: Evaluation) -> None:
        try:
            target, scale = await self._target(evaluation)
        except (_NoTargetError, StatusError) as error:
            evaluation.record_event(WARNING, "FailedGetScale", str(error))
            evaluation.set(ABLE, "False", "FailedGetScale", f"{_NO_SCALE}{error}")
            return
        text = "the HPA controller was able to get the target's current scale"
        evaluation.set(ABLE, "True", "SucceededGetScale", text)
        current: int = scale["spec"].get("replicas") or 0
        low, high = evaluation.spec.get("minReplicas"), evaluation.spec["maxReplicas"]
        low = 1 if low is None else low
        if current == 0 and low != 0:
            text = "scaling is disabled since the replica count of the target is zero"
            evaluation.set(ACTIVE, "False", "ScalingDisabled", text)
            evaluation.count(current, current)
        elif current > high:
            why = "Current number of replicas above Spec.MaxReplicas"
            await self._resize(evaluation, target, current, high, why)
        elif current < low:
            why = "Current number of replicas below Spec.MinReplicas"
            await self._resize(evaluation, target, current, low, why)
        else:
            await self._follow_metrics(evaluation, target, scale, current)

    async def _target(self, evaluation: Evaluation) -> tuple[Resource, Object]:
        """The target resource and its scale. Raises _NoTargetError, StatusError."""
        reference = evaluation.spec["scaleTargetRef"]
        api_version, kind = reference.get("apiVersion") or "", reference["kind"]
        if api_version.count("/") > 1:
            raise _NoTargetError(f"unexpected GroupVersion string: {api_version}")
        group = api_version.rpartition("/")[0]
        target = self._of_kind(group, kind)
        if target is None:
            raise _NoTargetError(f"no matches for kind {quote(kind)} in group {quote(group)}")
        if "scale" not in target.subresources:
            raise no_such_path()
        name = reference["name"]
        return target, await self._objects.get(target.key, evaluation.namespace, name, "scale")

    def _of_kind(self, group: str, kind: str) -> Resource | None:
        """The resource of a kind, in the most preferred version that has it."""
        for version in self._resources.groups.get(group, {}).values():
            for resource in version.resources.values():
                if resource.kind == kind and resource.namespaced:
                    return resource
        return None

    async def _resize(
        self, evaluation: Evaluation, target: Resource, current: int, desired: int, why: str
    ) -> None:
        name = evaluation.spec["scaleTargetRef"]["name"]
        try:
            await self._objects.scale(target.key, evaluation.namespace, name, desired)
        except StatusError as error:
            evaluation.record_event(
                WARNING, "FailedRescale", f"New size: {desired}; reason: {why}; error: {error}"
            )
            text = f"the HPA controller was unable to update the target scale: {error}"
            evaluation.set(ABLE, "False", "FailedUpdateScale", text)
            evaluation.count(current)
            return
        text = f"the HPA controller was able to update the target scale to {desired}"
        evaluation.set(ABLE, "True", "SucceededRescale", text)
        evaluation.record_event(NORMAL, "SuccessfulRescale", f"New size: {desired}; reason: {why}")
        evaluation.count(current, desired)
        evaluation.status["lastScaleTime"] = now()
        self._history_of(evaluation, current).changed(current, desired)

    def _history_of(self, evaluation: Evaluation, current: int) -> ScalingHistory:
        key = f"{evaluation.namespace}/{evaluation.value['metadata']['name']}"
        return self._history.setdefault(key, ScalingHistory(current))

    async def _follow_metrics(
        self, evaluation: Evaluation, target: Resource, scale: Object, current: int
    ) -> None:
        """Scale a target as its metrics propose, at the pace that the autoscaler allows."""
        history = self._history_of(evaluation, current)
        proposal = await self._proposal(evaluation, scale, current)
        if proposal is None:
            evaluation.count(current)
            return
        decision = history.decide(evaluation.spec, current, proposal.replicas)
        evaluation.set(ABLE, "True", *decision.able)
        evaluation.set(LIMITED, *decision.limited)
        if decision.replicas == current:
            evaluation.count(current, current)
            return
        grows = proposal.replicas > current
        why = f"{proposal.metric} above target" if grows else "All metrics below target"
        await self._resize(evaluation, target, current, decision.replicas, why)

    async def _proposal(
        self, evaluation: Evaluation, scale: Object, current: int
    ) -> Proposal | None:
        """The highest proposal of all metrics; None if the failed metrics leave it open."""
        name = evaluation.value["metadata"]["name"]
        text = scale["status"].get("selector") or ""
        try:
            selection = await self._selectors.check(evaluation.namespace, name, text)
        except UnusableSelectorError as error:
            evaluation.set(ACTIVE, "False", error.condition_reason, error.condition_text)
            for reason in (error.reason, "FailedComputeMetricsReplicas"):
                evaluation.record_event(WARNING, reason, str(error))
            return None
        outcomes = await self._outcomes(evaluation, selection, current)
        failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
        proposals = [outcome for outcome in outcomes if isinstance(outcome, Proposal)]
        for failure in failures:
            evaluation.record_event(WARNING, failure.reason, failure.text)
        # Metrics without a value may need more replicas, but not keep a target from growing.
        most = max(proposals, key=lambda proposal: proposal.replicas, default=None)
        if most is not None and (not failures or most.replicas >= current):
            found = f"the HPA was able to successfully calculate a replica count from {most.metric}"
            evaluation.set(ACTIVE, "True", "ValidMetricFound", found)
            return most
        if failures:
            _report_failures(evaluation, failures, len(outcomes))
        return None

    async def _outcomes(
        self, evaluation: Evaluation, selection: Selection, current: int
    ) -> list[Proposal | Failure]:
        spec, namespace, metrics = evaluation.spec, evaluation.namespace, self._pods.metrics
        tolerated = tolerances(spec.get("behavior"))
        pods = None
        if metrics is not None:
            pods = await self._pods.read(metrics, namespace, selection)
        outcomes = [
            await self._metrics.evaluate(metric, namespace, pods, current, tolerated)
            for metric in spec.get("metrics") or ()
        ]
        if pods is not None:
            evaluation.metrics = [
                outcome.status if isinstance(outcome, Proposal) else {"type": ""}
                for outcome in outcomes
            ]
        return outcomes


def _report_failures(evaluation: Evaluation, failures: list[Failure], count: int) -> None:
    """Report why metrics give no replica count; `count` is the number of all metrics."""
    first = failures[0]
    text = f"the HPA was unable to compute the replica count: {first.text}"
    evaluation.set(ACTIVE, "False", first.reason, text)
    summary = f"({len(failures)} invalid out of {count}), first error is: {first.summary}"
    evaluation.record_event(WARNING, "FailedComputeMetricsReplicas", f"invalid metrics {summary}")
