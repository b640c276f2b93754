"""Autoscalers follow the metrics of simulated pods as the clock moves."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from support.client import Object
from support.simulation import Pods, container
from support.waiting import eventually
from support.workloads import Workloads, replicated, template

PERIOD = 16  # a little more than the seconds between two evaluations
WINDOW = 300  # seconds for which a scale-down waits


def utilization(percent: int, resource: str = "cpu") -> Object:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": resource, "target": target}}


class Autoscaled(Workloads):
    """A Deployment with an autoscaler, in a namespace whose containers use what a test says."""

    def __init__(self, pods: Pods) -> None:
        super().__init__(pods.space)
        self._simulated = pods
        self.autoscalers = pods.space.collection("horizontalpodautoscalers", "autoscaling", "v2")

    def start(self, *metrics: Object, replicas: int = 2, most: int = 10, **spec: Any) -> None:
        """Create both, with containers `c` and `d` that request 100m and 100Mi each."""
        resources = {"requests": {"cpu": "100m", "memory": "100Mi"}}
        containers = [container(name, resources=resources) for name in ("c", "d")]
        self.deployments.create(
            "web", spec=replicated(replicas, template=template(containers=containers))
        )
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        spec = {"scaleTargetRef": target, "maxReplicas": most, "metrics": list(metrics), **spec}
        self.autoscalers.create("a", spec=spec)
        self.await_ready(replicas)
        self.pass_time(2 * PERIOD)  # until the start of the pods no longer counts

    def use(self, cpu: str, memory: str = "10Mi", **selector: Any) -> None:
        spec = {"usage": {"cpu": cpu, "memory": memory}, "selector": selector}
        if self._simulated.script("usage", **spec).status == 409:
            assert self._simulated.behaviours.patch("usage", {"spec": spec}).status == 200

    def pass_time(self, seconds: int = PERIOD) -> None:
        self.space.server.advance(seconds)

    def await_ready(self, count: int) -> None:
        self.await_status(self.deployments, "web", readyReplicas=count, replicas=count)

    def await_size(self, count: int) -> None:
        """Let time pass, a period at a time, until the target has so many pods."""

        def is_reached() -> bool:
            if self.deployments.read("web")["spec"]["replicas"] == count:
                return True
            self.pass_time()
            return False

        eventually(is_reached, f"{count} replicas")
        self.await_ready(count)

    def state(self, kind: str) -> tuple[str, str]:
        """Status and reason of a condition."""
        condition = self.condition(self.autoscalers, "a", kind)
        return condition.get("status", ""), condition.get("reason", "")

    def current_metrics(self) -> list[Object]:
        metrics: list[Object] = self.status(self.autoscalers, "a")["currentMetrics"]
        return metrics

    def await_reason(self, kind: str, status: str, reason: str) -> None:
        wanted = (status, reason)
        eventually(partial(self._is_condition, kind, wanted), f"{kind} is {wanted}")

    def _is_condition(self, kind: str, wanted: tuple[str, str]) -> bool:
        self.pass_time()
        return self.state(kind) == wanted


@pytest.fixture
def scaled(pods_1_36: Pods) -> Autoscaled:
    return Autoscaled(pods_1_36)


def test_a_target_grows_with_its_usage_and_shrinks_after_a_while(any_pods: Pods) -> None:
    scaled = Autoscaled(any_pods)
    scaled.use("50m")
    scaled.start(utilization(50))
    scaled.await_reason("ScalingActive", "True", "ValidMetricFound")
    assert scaled.state("ScalingLimited") == ("False", "DesiredWithinRange")
    assert scaled.current_metrics()[0]["resource"]["current"] == {
        "averageUtilization": 50,
        "averageValue": "100m",
    }
    scaled.use("100m")
    scaled.await_size(4)
    scaled.use("10m")
    scaled.await_reason("AbleToScale", "True", "ScaleDownStabilized")
    assert len(scaled.living()) == 4
    scaled.pass_time(WINDOW)
    scaled.await_size(1)
    metric = "cpu resource utilization (percentage of request)"
    scaled.await_event("SuccessfulRescale", f"New size: 4; reason: {metric} above target")
    scaled.await_event("SuccessfulRescale", "New size: 1; reason: All metrics below target")


def test_a_target_follows_one_container_and_a_value(scaled: Autoscaled) -> None:
    target = {"type": "Utilization", "averageUtilization": 50}
    busy = {"name": "cpu", "container": "d", "target": target}
    value = {"type": "AverageValue", "averageValue": "100Mi"}
    metrics = (
        {"type": "ContainerResource", "containerResource": busy},
        {"type": "Resource", "resource": {"name": "memory", "target": value}},
    )
    scaled.use("150m", "20Mi", containers=["d"])
    scaled.start(*metrics, most=20)
    scaled.await_size(6)
    first, second = scaled.current_metrics()
    assert first["containerResource"]["container"] == "d"
    assert first["containerResource"]["current"] == {
        "averageUtilization": 150,
        "averageValue": "150m",
    }
    assert second["resource"]["name"] == "memory"
    scaled.use("50m", "200Mi")
    scaled.await_size(20)


def test_the_pace_is_that_of_the_behavior(scaled: Autoscaled) -> None:
    policy = {"type": "Pods", "value": 1, "periodSeconds": 1800}
    behavior = {"scaleUp": {"policies": [policy]}, "scaleDown": {"selectPolicy": "Disabled"}}
    scaled.use("100m")
    scaled.start(utilization(50), behavior=behavior)
    scaled.await_size(3)
    scaled.await_reason("ScalingLimited", "True", "ScaleUpLimit")
    scaled.use("1m")
    scaled.pass_time(WINDOW)
    scaled.await_reason("ScalingLimited", "True", "ScaleDownLimit")
    assert len(scaled.living()) == 3


def test_what_has_no_value_keeps_a_target_from_shrinking_only(scaled: Autoscaled) -> None:
    metric = {"metric": {"name": "lag"}, "target": {"type": "AverageValue", "averageValue": "1"}}
    scaled.use("10m")
    scaled.start(utilization(50), {"type": "Pods", "pods": metric})
    scaled.await_reason("ScalingActive", "False", "FailedGetPodsMetric")
    scaled.use("100m")
    scaled.await_size(4)
    scaled.await_reason("ScalingActive", "True", "ValidMetricFound")


def test_a_container_without_a_request_has_no_utilization(scaled: Autoscaled) -> None:
    scaled.start(utilization(50, "ephemeral-storage"))
    scaled.await_reason("ScalingActive", "False", "FailedGetResourceMetric")
    scaled.autoscalers.patch("a", {"spec": {"metrics": [utilization(50)]}})
    scaled.deployments.patch("web", {"spec": {"template": template()}})
    text = "missing request for cpu in container c of Pod web-"

    def is_reported() -> bool:
        scaled.pass_time()
        conditions = scaled.status(scaled.autoscalers, "a")["conditions"]
        return any(text in condition["message"] for condition in conditions)

    eventually(is_reported, text)
