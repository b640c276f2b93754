"""The behaviour and columns of RuntimeClass: the container runtime of pods, its overhead and its
nodes."""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.names import dns_label
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.columns.model import AGE, NAME, table, text
from fairlead.resources.context import Context
from fairlead.resources.core.pods.go_text import TOLERATION, go_struct
from fairlead.resources.core.pods.resources import check_resources
from fairlead.resources.core.pods.scheduling import check_tolerations
from fairlead.resources.core.pods.warnings import newer_node_label
from fairlead.resources.gates import Gates
from fairlead.resources.metadata import check_labels
from fairlead.resources.rules import immutable
from fairlead.resources.storage.shared import OrderedBehaviour, Step

_TOLERATION_KEY = ("key", "operator", "value", "effect")


class RuntimeClassBehaviour(OrderedBehaviour):
    qualified_finalizers = False
    update_order = (Step.METADATA, Step.RULES, Step.METADATA_CHANGE, Step.CHANGE)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        if not value["handler"] and context.gates["EmptyIsRequired"]:
            causes.required("handler")
        else:
            causes.invalid_each("handler", value["handler"], dns_label(value["handler"]))
        overhead = value.get("overhead")
        if overhead is not None:
            # The overhead of a pod has the rules, and the path, of a container's limits.
            limits = {"limits": overhead.get("podFixed")}
            check_resources(limits, "overhead", causes, context)
        scheduling = value.get("scheduling")
        if scheduling is not None:
            check_labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector", causes)
            _check_tolerations(scheduling.get("tolerations") or [], causes, context.gates)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        immutable(value["handler"], old["handler"], "handler", causes)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        for key in (value.get("scheduling") or {}).get("nodeSelector") or ():
            if newer := newer_node_label(key, context):
                context.warn(f"scheduling.nodeSelector: {newer}")


def _check_tolerations(tolerations: list[dict[str, Any]], causes: Causes, gates: Gates) -> None:
    path = "scheduling.tolerations"
    # The path of early releases names the field twice.
    is_plain = gates["RuntimeClassTolerationPath"]
    check_tolerations(tolerations, path if is_plain else f"{path}.tolerations", causes)
    seen = set()
    for index, toleration in enumerate(tolerations):
        key = tuple(toleration.get(name, "") for name in _TOLERATION_KEY)
        if key in seen:
            causes.duplicate(f"{path}[{index}]", go_struct("Toleration", toleration, TOLERATION))
        seen.add(key)


PRINTERS = {
    "node/v1/runtimeclasses": table(
        NAME,
        text("Handler", "handler", "Handler that runs the pods"),
        AGE,
    ),
}
