"""The behaviour of HorizontalPodAutoscaler: the desired number of replicas, by metrics."""

from __future__ import annotations

from copy import deepcopy

from fairlead.base.release import Reworded
from fairlead.resources.autoscaling.conversion import (
    DEFAULT_METRICS,
    ROUND_TRIP_ANNOTATIONS,
    drop_annotations,
    round_trip,
)
from fairlead.resources.autoscaling.metrics import SOURCES, check_metrics, check_reference
from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.shared import non_negative_quantity
from fairlead.resources.gates import Gates
from fairlead.resources.metadata import check_metadata_update
from fairlead.resources.registry import Resource
from fairlead.resources.rules import ABOVE_ZERO, POSITIVE, non_negative

CONTAINER_SOURCE = SOURCES["ContainerResource"]
PERCENT_POLICY = {"type": "Percent", "value": 100, "periodSeconds": 15}
SCALE_UP = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, PERCENT_POLICY],
}
SCALE_DOWN = {"selectPolicy": "Max", "policies": [PERCENT_POLICY]}
SELECT_POLICIES = ("Disabled", "Max", "Min")
POLICY_TYPES = ("Percent", "Pods")
MAX_WINDOW = 3600
MAX_PERIOD = 1800


class AutoscalerBehaviour(Behaviour):
    def __init__(self, resource: Resource) -> None:
        super().__init__(resource)
        self._stored_as_v1 = Gates(release=resource.release)["AutoscalersStoredAsV1"]

    def fill_defaults(self, value: Object, context: Context) -> None:
        drop_annotations(value["metadata"], _annotations(context))
        spec = value["spec"]
        if not spec.get("metrics"):
            spec["metrics"] = deepcopy(DEFAULT_METRICS)
        for metric in spec["metrics"]:
            _drop_empty_value(metric)
        behavior = spec.get("behavior")
        # v1 clients send the behavior in an annotation, where defaults do not apply.
        if behavior is not None and context.group_version != "autoscaling/v1":
            behavior["scaleUp"] = _with_defaults(behavior.get("scaleUp"), SCALE_UP)
            behavior["scaleDown"] = _with_defaults(behavior.get("scaleDown"), SCALE_DOWN)

    def prepare_create(self, value: Object, context: Context) -> None:
        super().prepare_create(value, context)
        if not context.gates["HPAContainerMetrics"]:
            _drop_container_metrics(value)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        super().prepare_update(value, old, context)
        used = any(CONTAINER_SOURCE in metric for metric in old["spec"].get("metrics") or ())
        if not context.gates["HPAContainerMetrics"] and not used:
            _drop_container_metrics(value)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        fewest = 0 if context.gates["HPAScaleToZero"] else 1
        _check_spec(value["spec"], fewest, causes, context)
        if context.gates["AutoscalerTargetGroups"]:
            _check_target(value["spec"]["scaleTargetRef"], causes)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_metadata_update(value["metadata"], old["metadata"], causes)
        may_be_zero = context.gates["HPAScaleToZero"] or old["spec"].get("minReplicas") == 0
        _check_spec(value["spec"], 0 if may_be_zero else 1, causes, context)
        target, before = value["spec"]["scaleTargetRef"], old["spec"]["scaleTargetRef"]
        is_same = all(target.get(name) == before.get(name) for name in ("apiVersion", "kind"))
        if context.gates["AutoscalerTargetGroups"] and not is_same:
            _check_target(target, causes)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        super().check_subresource_update(subresource, value, old, causes, context)
        for name in ("currentReplicas", "desiredReplicas"):
            non_negative(value["status"].get(name), f"status.{name}", causes)

    def normalize(self, value: Object, applied: bool) -> None:
        """Reduce an accepted autoscaler to the fields that version v1 and its annotations can
        hold, in releases that store that version."""
        if self._stored_as_v1:
            round_trip(value)


def _check_target(target: Object, causes: Causes) -> None:
    """The apiVersion of the target needs a group, unless it is a kind of the core group."""
    version: str = target.get("apiVersion", "")
    path = "spec.scaleTargetRef.apiVersion"
    if version.count("/") > 1:
        causes.invalid(path, version, f"unexpected GroupVersion string: {version}")
    elif not version.partition("/")[2] and target["kind"] != "ReplicationController":
        causes.invalid(path, version, "apiVersion must specify API group")


def _annotations(context: Context) -> tuple[str, ...]:
    return tuple(context.dialect.label(name) for name in ROUND_TRIP_ANNOTATIONS)


def _with_defaults(rules: Object | None, defaults: Object) -> Object:
    settings = {name: item for name, item in (rules or {}).items() if item is not None}
    return {**deepcopy(defaults), **settings}


def _drop_empty_value(metric: Object) -> None:
    """Storing adds a value of 0 to the average value of an object metric. Drop it: as a value from
    the client it would be refused."""
    target: Object = (metric.get("object") or {}).get("target") or {}
    if target.get("value") == "0" and target.get("averageValue") is not None:
        del target["value"]


def _drop_container_metrics(value: Object) -> None:
    for metric in value["spec"].get("metrics") or ():
        metric.pop(CONTAINER_SOURCE, None)


def _check_spec(spec: Object, fewest: int, causes: Causes, context: Context) -> None:
    low, high = spec.get("minReplicas"), spec["maxReplicas"]
    if low is not None and low < fewest:
        causes.invalid("spec.minReplicas", low, f"must be greater than or equal to {fewest}")
    if high == 0 and context.gates["EmptyIsRequired"]:
        causes.required("spec.maxReplicas", "must be set and greater than 0")
    elif high < 1:
        least = Reworded(POSITIVE, "must be greater than or equal to 1")
        causes.invalid("spec.maxReplicas", high, least)
    if low is not None and high < low:
        detail = "must be greater than or equal to `minReplicas`"
        causes.invalid("spec.maxReplicas", high, detail)
    check_reference(spec["scaleTargetRef"], "spec.scaleTargetRef", causes)
    check_metrics(spec.get("metrics") or [], low, causes, context)
    behavior = spec.get("behavior") or {}
    for name in ("scaleUp", "scaleDown"):
        if behavior.get(name) is not None:
            _check_rules(behavior[name], f"spec.behavior.{name}", causes)


def _check_rules(rules: Object, path: str, causes: Causes) -> None:
    window, choice = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    window_path = f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        causes.invalid(window_path, window, "must be greater than or equal to zero")
    if window is not None and window > MAX_WINDOW:
        causes.invalid(window_path, window, f"must be less than or equal to {MAX_WINDOW}")
    if choice is not None and choice not in SELECT_POLICIES:
        causes.unsupported(f"{path}.selectPolicy", choice, SELECT_POLICIES)
    policies = rules.get("policies") or []
    if not policies:
        causes.required(f"{path}.policies", "must specify at least one Policy")
    for index, policy in enumerate(policies):
        _check_policy(policy, f"{path}.policies[{index}]", causes)
    if "tolerance" in rules:
        non_negative_quantity(rules["tolerance"], f"{path}.tolerance", causes)


def _check_policy(policy: Object, path: str, causes: Causes) -> None:
    kind, period = policy["type"], policy["periodSeconds"]
    if kind not in POLICY_TYPES:
        causes.unsupported(f"{path}.type", kind, POLICY_TYPES)
    for name in ("value", "periodSeconds"):
        if policy[name] <= 0:
            causes.invalid(f"{path}.{name}", policy[name], ABOVE_ZERO)
    if period > MAX_PERIOD:
        detail = f"must be less than or equal to {MAX_PERIOD}"
        causes.invalid(f"{path}.periodSeconds", period, detail)
