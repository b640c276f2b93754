"""Columns of the apps group."""

from __future__ import annotations

from fairlead.resources.columns.cell_text import NONE, items, labels_at, selector_at
from fairlead.resources.columns.model import AGE, NAME, Object, number, table, text
from fairlead.resources.columns.workloads import containers, ready_of_desired, replicas, selector

_CONTAINERS = containers("spec.template.spec")


def _controller(revision: Object) -> str:
    """The owner that controls the revision, as `kind.group/name`."""
    owners = items(revision, "metadata.ownerReferences")
    owner = next((owner for owner in owners if owner.get("controller")), None)
    if owner is None:
        return NONE
    group = str(owner.get("apiVersion") or "").rpartition("/")[0]
    kind = str(owner.get("kind") or "")
    return f"{kind}.{group}".strip(".").lower() + f"/{owner.get('name') or ''}"


PRINTERS = {
    "apps/v1/deployments": table(
        NAME,
        text("Ready", ready_of_desired, "Ready replicas, of those asked for"),
        text("Up-to-date", "status.updatedReplicas", "Replicas of the latest form", missing=0),
        text("Available", "status.availableReplicas", "Replicas ready for long enough", missing=0),
        AGE,
        *_CONTAINERS,
        selector(selector_at("spec.selector", empty="", invalid="<invalid>")),
    ),
    "apps/v1/replicasets": table(NAME, *replicas(), AGE, *_CONTAINERS, selector()),
    "apps/v1/statefulsets": table(
        NAME,
        text("Ready", ready_of_desired, "Ready replicas, of those asked for"),
        AGE,
        *_CONTAINERS,
    ),
    "apps/v1/daemonsets": table(
        NAME,
        number("Desired", "status.desiredNumberScheduled", "Nodes that should run the pod"),
        number("Current", "status.currentNumberScheduled", "Nodes that have the pod"),
        number("Ready", "status.numberReady", "Nodes where the pod is ready"),
        number("Up-to-date", "status.updatedNumberScheduled", "Nodes with the latest form"),
        number("Available", "status.numberAvailable", "Nodes where it is ready for long enough"),
        text("Node Selector", labels_at("spec.template.spec.nodeSelector"), "Labels of its nodes"),
        AGE,
        *_CONTAINERS,
        selector(),
    ),
    "apps/v1/controllerrevisions": table(
        NAME,
        text("Controller", _controller, "Owner of the revision"),
        text("Revision", "revision", "Number of the revision", missing=0),
        AGE,
    ),
}
