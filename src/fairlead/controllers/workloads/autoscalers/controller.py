"""The controller of HorizontalPodAutoscalers.

Keeps the target's replicas between minReplicas and maxReplicas. Metrics are not served here, so
within the bounds it only reports that, with the reference's messages for a cluster without a
metrics server.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.base import clock
from fairlead.base.errors import StatusError, no_such_path
from fairlead.codec.types.times import now, parse_time
from fairlead.controllers.events import NORMAL, WARNING, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.workloads import statuses
from fairlead.controllers.workloads.autoscalers.metrics import Metrics
from fairlead.controllers.workloads.autoscalers.selectors import Selectors, UnusableSelectorError
from fairlead.controllers.workloads.statuses import replace_status
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.resources.causes import quote
from fairlead.resources.registry import Resource

AUTOSCALERS = "autoscaling/v2/horizontalpodautoscalers"
ABLE, ACTIVE = "AbleToScale", "ScalingActive"
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
            self.status["currentMetrics"] = None


class Autoscalers:
    """Keys are `namespace/name` of autoscalers. Each is evaluated periodically, since its target
    may be of any kind and is not watched."""

    workers = 1

    def __init__(self, api: Api, objects: Client, events: Recorder) -> None:
        self._resources = api.resources
        self._resource = api.resources.named(AUTOSCALERS)
        self._objects = objects
        self._events = events
        self._metrics = Metrics(api.dialect)
        self._selectors = Selectors(api, objects)
        self._due: dict[str, float] = {}

    def follows(self) -> Mapping[str, Keys]:
        return {AUTOSCALERS: lambda change: (change.key,)}

    async def sync(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        value = self._objects.find(AUTOSCALERS, namespace, name)
        if value is None:
            self._due.pop(key, None)
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
            await self._judge(evaluation, scale, current)

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

    async def _judge(self, evaluation: Evaluation, scale: Object, current: int) -> None:
        """Report why metrics give no replica count."""
        evaluation.count(current)
        name = evaluation.value["metadata"]["name"]
        text = scale["status"].get("selector") or ""
        try:
            await self._selectors.check(evaluation.namespace, name, text)
        except UnusableSelectorError as error:
            evaluation.set(ACTIVE, "False", error.condition_reason, error.condition_text)
            for reason in (error.reason, "FailedComputeMetricsReplicas"):
                evaluation.record_event(WARNING, reason, str(error))
            return
        failures = self._metrics.failures(
            evaluation.spec.get("metrics") or (), evaluation.namespace
        )
        if not failures:
            return
        for failure in failures:
            evaluation.record_event(WARNING, failure.reason, failure.text)
        first, count = failures[0], len(failures)
        text = f"the HPA was unable to compute the replica count: {first.text}"
        evaluation.set(ACTIVE, "False", first.reason, text)
        summary = f"({count} invalid out of {count}), first error is: {first.summary}"
        evaluation.record_event(
            WARNING, "FailedComputeMetricsReplicas", f"invalid metrics {summary}"
        )
