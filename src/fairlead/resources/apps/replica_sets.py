"""The behaviour of ReplicaSet: a number of equal pods."""

from __future__ import annotations

from fairlead.resources.apps.shared import StatusCounts, check_selector_kept
from fairlead.resources.apps.templates import TemplateBehaviour, check_replicated
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.rules import non_negative

STATUS = StatusCounts(
    (
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
    ),
    (
        ("fullyLabeledReplicas", "replicas", "status.replicas"),
        ("readyReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "readyReplicas", "readyReplicas"),
    ),
)


class ReplicaSetBehaviour(TemplateBehaviour):
    looks_twice = True

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
        STATUS.check(value["status"], causes)
