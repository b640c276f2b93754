"""Autoscalers keep replicas within their limits and report missing metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.client import Object
from support.namespaces import Space
from support.process import MOVABLE_CLOCK, FreshServer, ServerProcess
from support.waiting import eventually
from support.workloads import Workloads

PERIOD = 15
MISSING = "the server could not find the requested resource"


@pytest.fixture(scope="module")
def moving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("autoscalers")
    server = ServerProcess(directory, prelude=MOVABLE_CLOCK).start()
    yield server
    server.stop()


def scaling(
    name: str, kind: str = "Deployment", api_version: str = "apps/v1", **spec: Any
) -> Object:
    """The spec of an autoscaler of this target."""
    reference = {"apiVersion": api_version, "kind": kind, "name": name}
    return {"scaleTargetRef": reference, **spec}


class Scaling(Workloads):
    """Autoscalers of a namespace on a server whose clock can be moved."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.autoscalers = space.collection("horizontalpodautoscalers", "autoscaling", "v2")

    def autoscale(
        self, kind: str = "Deployment", api_version: str = "apps/v1", **spec: Any
    ) -> Object:
        return self.autoscalers.create("a", spec=scaling("web", kind, api_version, **spec))

    def pass_time(self) -> None:
        self.space.server.advance(PERIOD + 1)

    def await_scaler(self, kind: str, reason: str) -> tuple[str, str]:
        """The status and the message of a condition, once it has a reason."""
        condition = self.await_condition(self.autoscalers, "a", kind, reason)
        return condition["status"], condition["message"]


@pytest.fixture
def work(moving: ServerProcess) -> Scaling:
    return Scaling(Space(moving, moving.client()))


def no_metrics(domain: str = "k8s.io") -> str:
    return (
        "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch"
        f" metrics from resource metrics API: {MISSING} (get pods.metrics.{domain})"
    )


def test_without_metrics_nothing_is_scaled_within_the_bounds(work: Scaling) -> None:
    work.create_deployment(2)
    work.autoscale(maxReplicas=3)
    work.pass_time()
    text = f"the HPA was unable to compute the replica count: {no_metrics()}"
    assert work.await_scaler("ScalingActive", "FailedGetResourceMetric") == ("False", text)
    able = ("True", "the HPA controller was able to get the target's current scale")
    assert work.await_scaler("AbleToScale", "SucceededGetScale") == able
    status = work.status(work.autoscalers, "a")
    assert [condition["type"] for condition in status["conditions"]] == [
        "AbleToScale",
        "ScalingActive",
    ]
    assert (status["currentReplicas"], status["desiredReplicas"]) == (2, 0)
    event = work.await_event("FailedGetResourceMetric")
    assert (event["type"], event["message"]) == ("Warning", no_metrics())
    assert event["source"] == {"component": "horizontal-pod-autoscaler"}
    summary = "invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource"
    event = work.await_event("FailedComputeMetricsReplicas")
    assert event["message"] == f"{summary} metric value: {no_metrics()}"
    assert work.deployments.read("web")["spec"]["replicas"] == 2


def test_the_other_dialect_has_its_own_groups(fresh_server: FreshServer) -> None:
    server = fresh_server(dialect="cluster", prelude=MOVABLE_CLOCK)
    work = Scaling(Space(server, server.client()))
    work.create_deployment(1)
    work.autoscale(maxReplicas=3)
    eventually(lambda: bool(work.status(work.deployments, "web")), "it was looked at")
    work.pass_time()
    assert (
        no_metrics("cluster.io") in work.await_scaler("ScalingActive", "FailedGetResourceMetric")[1]
    )


def test_nothing_happens_before_the_period_is_over(work: Scaling) -> None:
    work.create_deployment(5)
    work.autoscale(maxReplicas=3)
    work.await_status(work.deployments, "web", replicas=5)
    assert not work.status(work.autoscalers, "a").get("conditions")


@pytest.mark.parametrize(
    ("replicas", "size", "why"),
    [
        (5, 3, "Current number of replicas above Spec.MaxReplicas"),
        (1, 2, "Current number of replicas below Spec.MinReplicas"),
    ],
)
def test_what_is_beyond_the_bounds_is_scaled(
    work: Scaling, replicas: int, size: int, why: str
) -> None:
    work.create_deployment(replicas)
    work.autoscale(minReplicas=2, maxReplicas=3)
    work.pass_time()
    text = f"the HPA controller was able to update the target scale to {size}"
    assert work.await_scaler("AbleToScale", "SucceededRescale") == ("True", text)
    assert work.deployments.read("web")["spec"]["replicas"] == size
    status = work.status(work.autoscalers, "a")
    assert (status["currentReplicas"], status["desiredReplicas"]) == (replicas, size)
    assert "lastScaleTime" in status
    event = work.await_event("SuccessfulRescale")
    assert event["message"] == f"New size: {size}; reason: {why}"
    managers = [
        managed_field["manager"]
        for managed_field in work.deployments.read("web")["metadata"]["managedFields"]
    ]
    assert "kube-controller-manager" in managers
    work.pass_time()
    work.await_scaler("ScalingActive", "FailedGetResourceMetric")


def test_autoscaler_leaves_a_target_scaled_to_zero_alone(work: Scaling) -> None:
    work.create_deployment(0)
    work.autoscale(minReplicas=2, maxReplicas=3)
    work.pass_time()
    text = "scaling is disabled since the replica count of the target is zero"
    assert work.await_scaler("ScalingActive", "ScalingDisabled") == ("False", text)
    assert work.deployments.read("web")["spec"]["replicas"] == 0


@pytest.mark.parametrize(
    ("kind", "api_version", "why"),
    [
        ("Deployment", "apps/v1", 'deployments/scale.apps "web" not found'),
        ("Nothing", "x.example/v1", 'no matches for kind "Nothing" in group "x.example"'),
        ("Pod", "v1", MISSING),
        ("Deployment", "a/b/c", "unexpected GroupVersion string: a/b/c"),
    ],
)
def test_autoscaler_of_a_missing_target_says_so(
    work: Scaling, kind: str, api_version: str, why: str
) -> None:
    work.autoscale(kind, api_version, maxReplicas=3)
    work.pass_time()
    text = f"the HPA controller was unable to get the target's current scale: {why}"
    assert work.await_scaler("AbleToScale", "FailedGetScale") == ("False", text)
    assert work.await_event("FailedGetScale")["message"] == why
    assert not work.condition(work.autoscalers, "a", "ScalingActive")


def test_custom_resources_are_scaled(work: Scaling) -> None:
    replicas = {"type": "object", "properties": {"size": {"type": "integer"}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": replicas, "status": replicas},
            }
        },
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
        },
    }
    group = f"{work.space.name}.example"
    definition = {
        "group": group,
        "names": {"plural": "webs", "kind": "Web"},
        "scope": "Namespaced",
        "versions": [version],
    }
    definitions = work.space.everywhere("customresourcedefinitions", "apiextensions.@")
    definitions.create(f"webs.{group}", spec=definition)
    webs = work.space.collection("webs", group)
    eventually(lambda: webs.list().status == 200, "it is served")
    webs.create("web", apiVersion=f"{group}/v1", kind="Web", spec={"size": 7})
    work.autoscale("Web", f"{group}/v1", maxReplicas=4)
    work.pass_time()
    work.await_scaler("AbleToScale", "SucceededRescale")
    assert webs.read("web")["spec"]["size"] == 4
    work.pass_time()
    text = "the HPA target's scale is missing a selector"
    assert work.await_scaler("ScalingActive", "InvalidSelector") == ("False", text)
    definitions.remove(f"webs.{group}")


def test_two_autoscalers_of_the_same_pods_are_ambiguous_in_release_1_36(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--release", "1.36", prelude=MOVABLE_CLOCK)
    work = Scaling(Space(server, server.client()))
    work.create_deployment(1)
    work.await_pods(1)
    work.autoscale(maxReplicas=3)
    work.autoscalers.create("b", spec=scaling("web", maxReplicas=3))
    both = f"[{work.space.name}/a {work.space.name}/b]"
    text = f"pods by selector app=web are controlled by multiple HPAs: {both}"
    work.pass_time()
    second = work.await_condition(work.autoscalers, "b", "ScalingActive", "AmbiguousSelector")
    assert (second["status"], second["message"]) == ("False", text)
    event = work.await_event("AmbiguousSelector")
    assert (event["type"], event["message"]) == ("Warning", text)
    work.pass_time()
    assert work.await_scaler("ScalingActive", "AmbiguousSelector") == ("False", text)
    work.autoscalers.remove("b")
    work.pass_time()
    work.await_scaler("ScalingActive", "FailedGetResourceMetric")


def test_every_kind_of_metric_is_missed_in_its_own_words(work: Scaling) -> None:
    custom = (
        "unable to fetch metrics from custom metrics API: no custom metrics API"
        " (custom.metrics.k8s.io) registered"
    )
    average = {"type": "AverageValue", "averageValue": "1"}
    value = {"type": "Value", "value": "1"}
    described = {"apiVersion": "v1", "kind": "Service", "name": "s"}
    selected = {"name": "m", "selector": {"matchLabels": {"a": "b"}}}
    metrics = [
        {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": average}},
        {
            "type": "Object",
            "object": {"metric": {"name": "m"}, "describedObject": described, "target": value},
        },
        {"type": "External", "external": {"metric": selected, "target": average}},
    ]
    work.create_deployment(1)
    work.autoscale(maxReplicas=3, metrics=metrics)
    work.pass_time()
    event = work.await_event("FailedGetPodsMetric")
    assert event["message"] == f"unable to get metric m: {custom}"
    event = work.await_event("FailedGetObjectMetric")
    assert event["message"] == f"unable to get metric m: Service on {work.space.name} s/{custom}"
    event = work.await_event("FailedGetExternalMetric")
    assert event["message"] == (
        f"unable to get external metric {work.space.name}/m/&LabelSelector{{MatchLabels:"
        "map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}: unable to fetch"
        f" metrics from external metrics API: {MISSING} (get m.external.metrics.k8s.io)"
    )
    event = work.await_event("FailedComputeMetricsReplicas")
    assert event["message"].startswith(
        "invalid metrics (3 invalid out of 3), first error is: failed to get pods metric value: "
    )
    work.await_scaler("ScalingActive", "FailedGetPodsMetric")
