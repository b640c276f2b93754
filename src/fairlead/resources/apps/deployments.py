"""The behaviour of Deployment, replicas that are replaced in steps when their template changes, and
of ReplicaSet, a number of equal pods."""

from __future__ import annotations

from fairlead.resources.apps.shared import (
    StatusCounts,
    check_at_most_hundred_percent,
    check_collision_count,
    check_int_or_percent,
    check_selector_kept,
    int_or_percent,
    int_or_string_shown,
    strategy_shown,
)
from fairlead.resources.apps.templates import TemplateBehaviour, check_replicated
from fairlead.resources.behaviour import Object, keep
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.rules import non_negative

DEFAULT_STEP = "25%"
DEPLOYMENT_STATUS = StatusCounts(
    (
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ),
    (
        ("updatedReplicas", "replicas", "status.replicas"),
        ("readyReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "readyReplicas", "readyReplicas"),
    ),
)


class DeploymentBehaviour(TemplateBehaviour):
    names_pods = True

    def fill_defaults(self, value: Object, context: Context) -> None:
        super().fill_defaults(value, context)
        strategy = value["spec"]["strategy"]
        if strategy.get("type") == "RollingUpdate":
            steps = strategy.setdefault("rollingUpdate", {})
            for name in ("maxUnavailable", "maxSurge"):
                steps.setdefault(name, DEFAULT_STEP)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        super().prepare_update(value, old, context)
        metadata, before = value["metadata"], old["metadata"]
        if (metadata.get("annotations") or {}) != (before.get("annotations") or {}):
            metadata["generation"] = before.get("generation", 0) + 1

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        super().prepare_subresource_update(subresource, value, old, context)
        keep(value["metadata"], old["metadata"], "labels")

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        spec = value["spec"]
        non_negative(spec.get("replicas"), "spec.replicas", causes)
        check_replicated(spec, causes, context)
        check_strategy(spec["strategy"], causes)
        for name in ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"):
            non_negative(spec.get(name), f"spec.{name}", causes)
        deadline = spec.get("progressDeadlineSeconds")
        if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
            detail = "must be greater than minReadySeconds"
            causes.invalid("spec.progressDeadlineSeconds", deadline, detail)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_selector_kept(value, old, causes)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        super().check_subresource_update(subresource, value, old, causes, context)
        DEPLOYMENT_STATUS.check(value["status"], causes)
        check_collision_count(value["status"], old["status"], causes)


def check_strategy(strategy: Object, causes: Causes) -> None:
    path, steps = "spec.strategy", strategy.get("rollingUpdate")
    match strategy.get("type", ""):
        case "Recreate":
            if steps is not None:
                detail = "may not be specified when strategy `type` is 'Recreate'"
                causes.forbidden(f"{path}.rollingUpdate", detail)
        case "RollingUpdate":
            _check_steps(steps or {}, f"{path}.rollingUpdate", causes)
        case other:
            steps = steps and {"maxUnavailable": 0, "maxSurge": 0, **steps}
            shown = strategy_shown("DeploymentStrategy", other, "RollingUpdateDeployment", steps)
            causes.unsupported(path, shown, ["Recreate", "RollingUpdate"])


def _check_steps(steps: Object, path: str, causes: Causes) -> None:
    unavailable, surge = steps.get("maxUnavailable", 0), steps.get("maxSurge", 0)
    check_int_or_percent(unavailable, f"{path}.maxUnavailable", causes)
    check_int_or_percent(surge, f"{path}.maxSurge", causes)
    if int_or_percent(unavailable) == 0 and int_or_percent(surge) == 0:
        detail = "may not be 0 when `maxSurge` is 0"
        causes.invalid(f"{path}.maxUnavailable", int_or_string_shown(unavailable), detail)
    check_at_most_hundred_percent(unavailable, f"{path}.maxUnavailable", causes)


REPLICA_SET_STATUS = StatusCounts(
    (
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ),
    (
        ("fullyLabeledReplicas", "replicas", "status.replicas"),
        ("readyReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "readyReplicas", "readyReplicas"),
    ),
)


class ReplicaSetBehaviour(TemplateBehaviour):
    checks_twice = True
    names_pods = True

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        spec = value["spec"]
        for name in ("replicas", "minReadySeconds"):
            non_negative(spec.get(name), f"spec.{name}", causes)
        check_replicated(spec, causes, context)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_selector_kept(value, old, causes)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        super().check_subresource_update(subresource, value, old, causes, context)
        REPLICA_SET_STATUS.check(value["status"], causes)
