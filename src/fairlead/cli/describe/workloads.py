"""Layouts of workloads: replication controllers, replica sets, deployments, stateful and daemon
sets; and of their disruption budgets and priority classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.claims import draw_claim_templates
from fairlead.cli.describe.parts.metadata import (
    controller_of,
    draw_conditions,
    draw_controller,
    draw_labels_and_annotations,
    one_line,
    selector_or_none,
)
from fairlead.cli.describe.parts.pods import draw_template, label_selector, pods_by, pods_status
from fairlead.cli.describe.parts.values import NONE, UNSET, in_full, shown
from fairlead.cli.describe.queries import REPLICA_SETS, Queries, QueryResult

_TEMPLATE_HASH = "pod-template-hash"
_NODE_COUNTS = (
    ("Desired Number of Nodes Scheduled", "desiredNumberScheduled"),
    ("Current Number of Nodes Scheduled", "currentNumberScheduled"),
    ("Number of Nodes Scheduled with Up-to-date Pods", "updatedNumberScheduled"),
    ("Number of Nodes Scheduled with Available Pods", "numberAvailable"),
    ("Number of Nodes Misscheduled", "numberMisscheduled"),
)
_COUNTS = (
    ("Allowed disruptions", "disruptionsAllowed"),
    ("Current", "currentHealthy"),
    ("Desired", "desiredHealthy"),
    ("Total", "expectedPods"),
)


def _draw_replicas(page: Page, workload: Subject) -> None:
    current, desired = workload.number("status.replicas"), workload.number("spec.replicas")
    page.pair("Replicas", f"{current} current / {desired} desired")
    page.pair("Pods Status", pods_status(workload))


def _draw_controller(page: Page, controller: Subject) -> None:
    page.pairs(
        ("Name", controller.name),
        ("Namespace", controller.namespace),
        ("Selector", one_line(controller.map("spec.selector"))),
    )
    draw_labels_and_annotations(page, controller)
    _draw_replicas(page, controller)
    draw_template(page, controller)
    draw_conditions(page, controller)


def _draw_replica_set(page: Page, replica_set: Subject) -> None:
    page.pairs(
        ("Name", replica_set.name),
        ("Namespace", replica_set.namespace),
        ("Selector", selector_or_none(replica_set.part("spec.selector"))),
    )
    draw_labels_and_annotations(page, replica_set)
    draw_controller(page, replica_set)
    _draw_replicas(page, replica_set)
    draw_template(page, replica_set)
    draw_conditions(page, replica_set)


def _draw_deployment(page: Page, deployment: Subject) -> None:
    page.pairs(
        ("Name", deployment.name),
        ("Namespace", deployment.namespace),
        ("CreationTimestamp", in_full(deployment.at("metadata.creationTimestamp"))),
    )
    draw_labels_and_annotations(page, deployment)
    page.pairs(
        ("Selector", label_selector(deployment)),
        ("Replicas", _deployment_replicas(deployment)),
        ("StrategyType", deployment.text("spec.strategy.type")),
        ("MinReadySeconds", deployment.number("spec.minReadySeconds")),
    )
    rolling = deployment.part("spec.strategy.rollingUpdate")
    if rolling.has():
        maximum = f"{rolling.text('maxUnavailable', '0')} max unavailable"
        surge = f"{rolling.text('maxSurge', '0')} max surge"
        page.pair("RollingUpdateStrategy", f"{maximum}, {surge}")
    draw_template(page, deployment)
    draw_conditions(page, deployment)
    old, new = _old_and_new(deployment, deployment.found("replica sets").items)
    if old or new:
        page.pair("OldReplicaSets", ", ".join(map(_created, old)) or NONE)
        page.pair("NewReplicaSet", ", ".join(map(_created, new)) or NONE)


def _deployment_replicas(deployment: Subject) -> str:
    status = deployment.part("status")
    counts = (
        ("desired", deployment.number("spec.replicas")),
        ("updated", status.number("updatedReplicas")),
        ("total", status.number("replicas")),
        ("available", status.number("availableReplicas")),
        ("unavailable", status.number("unavailableReplicas")),
    )
    return " | ".join(f"{count} {name}" for name, count in counts)


async def _replica_sets(deployment: Subject, queries: Queries) -> QueryResult:
    selector = label_selector(deployment)
    return await queries.list(REPLICA_SETS, deployment.namespace, labelSelector=selector)


def _old_and_new(
    deployment: Subject, replica_sets: list[Fields]
) -> tuple[list[Fields], list[Fields]]:
    """Split the replica sets of a deployment. The first one with the deployment's template is the
    new one."""
    own = [
        replica_set
        for replica_set in replica_sets
        if controller_of(replica_set).text("uid") == deployment.uid
    ]
    own.sort(
        key=lambda replica_set: (
            replica_set.text("metadata.creationTimestamp"),
            replica_set.text("metadata.name"),
        )
    )
    template = _without_hash(deployment.at("spec.template"))
    new = [
        replica_set
        for replica_set in own
        if _without_hash(replica_set.at("spec.template")) == template
    ][:1]
    return [replica_set for replica_set in own if replica_set not in new], new


def _without_hash(template: Any) -> Any:
    """The template without the label that the deployment controller adds."""
    labels = Fields(template).at("metadata.labels")
    if not isinstance(labels, Mapping):
        return template
    rest = {key: value for key, value in labels.items() if key != _TEMPLATE_HASH}
    return {**template, "metadata": {**template["metadata"], "labels": rest}}


def _created(replica_set: Fields) -> str:
    actual, desired = replica_set.number("status.replicas"), replica_set.number("spec.replicas")
    return f"{replica_set.text('metadata.name')} ({actual}/{desired} replicas created)"


def _draw_stateful_set(page: Page, stateful_set: Subject) -> None:
    page.pairs(
        ("Name", stateful_set.name),
        ("Namespace", stateful_set.namespace),
        ("CreationTimestamp", in_full(stateful_set.at("metadata.creationTimestamp"))),
        ("Selector", label_selector(stateful_set)),
    )
    draw_labels_and_annotations(page, stateful_set)
    desired, total = stateful_set.number("spec.replicas"), stateful_set.number("status.replicas")
    page.pair("Replicas", f"{desired} desired | {total} total")
    page.pair("Update Strategy", stateful_set.text("spec.updateStrategy.type"))
    rolling = stateful_set.part("spec.updateStrategy.rollingUpdate")
    if rolling.has("partition"):
        page.pair("Partition", rolling.number("partition"), 1)
        page.pairs_if(("MaxUnavailable", rolling.text("maxUnavailable")), level=1)
    page.pair("Pods Status", pods_status(stateful_set))
    draw_template(page, stateful_set)
    claims = stateful_set.items("spec.volumeClaimTemplates")
    draw_claim_templates(page, claims, stateful_set.dialect)


def _draw_daemon_set(page: Page, daemon_set: Subject) -> None:
    page.pair("Name", daemon_set.name)
    page.pair("Selector", label_selector(daemon_set))
    page.pair("Node-Selector", one_line(daemon_set.map("spec.template.spec.nodeSelector")))
    draw_labels_and_annotations(page, daemon_set)
    for name, path in _NODE_COUNTS:
        page.write(f"{name}: {daemon_set.number(f'status.{path}')}")
    page.pair("Pods Status", pods_status(daemon_set))
    draw_template(page, daemon_set)


def _map_selector(controller: Subject) -> str:
    return ",".join(f"{key}={value}" for key, value in controller.map("spec.selector").items())


_PODS = {"pods": pods_by(label_selector)}

REPLICATION_CONTROLLER = Layout(_draw_controller, {"pods": pods_by(_map_selector)})
REPLICA_SET = Layout(_draw_replica_set, _PODS)
DEPLOYMENT = Layout(_draw_deployment, {"replica sets": _replica_sets})
STATEFUL_SET = Layout(_draw_stateful_set, _PODS)
DAEMON_SET = Layout(_draw_daemon_set, _PODS)


# Layouts of priority classes and disruption budgets.


def _draw_budget(page: Page, budget: Subject) -> None:
    page.pairs(("Name", budget.name), ("Namespace", budget.namespace))
    if budget.has("spec.minAvailable"):
        page.pair("Min available", budget.text("spec.minAvailable"))
    elif budget.has("spec.maxUnavailable"):
        page.pair("Max unavailable", budget.text("spec.maxUnavailable"))
    selector = budget.part("spec.selector")
    page.pair("Selector", selector_or_none(selector) if selector.has() else UNSET)
    policy = budget.text("spec.unhealthyPodEvictionPolicy")
    page.pairs_if(("Unhealthy Pod Eviction Policy", policy))
    page.write("Status:")
    for name, path in _COUNTS:
        page.pair(name, budget.number(f"status.{path}"), 2)


def _draw_priority(page: Page, priority: Subject) -> None:
    page.pairs(
        ("Name", priority.name),
        ("Value", priority.number("value")),
        ("GlobalDefault", shown(priority.flag("globalDefault"))),
        ("PreemptionPolicy", priority.text("preemptionPolicy")),
        ("Description", priority.text("description")),
        ("Annotations", one_line(priority.annotations)),
    )


POD_DISRUPTION_BUDGET = Layout(_draw_budget)
PRIORITY_CLASS = Layout(_draw_priority)
