"""The behaviour of CSIStorageCapacity: a driver's capacity for a class in a part of the cluster."""

from __future__ import annotations

from fairlead.codec.types.names import dns_subdomain
from fairlead.codec.types.quantity import quantity
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods.warnings import newer_node_label, warn_of_node_term
from fairlead.resources.go_values import go_selector
from fairlead.resources.rules import IMMUTABLE, NON_NEGATIVE, immutable, label_selector
from fairlead.resources.storage.shared import OrderedBehaviour, Step, same


class CSIStorageCapacityBehaviour(OrderedBehaviour):
    update_order = (Step.METADATA, Step.RULES, Step.METADATA_CHANGE, Step.CHANGE)

    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        for _ in range(2):  # the reference checks twice and lists every cause twice
            super().check_create(value, causes, context)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        label_selector(value.get("nodeTopology"), "nodeTopology", causes)
        name = value["storageClassName"]
        causes.invalid_each("storageClassName", name, dns_subdomain(name))
        capacity = value.get("capacity")
        if capacity is not None and quantity(capacity) < 0:
            causes.invalid("capacity", capacity, NON_NEGATIVE)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        topology = value.get("nodeTopology")
        if not same(topology, old.get("nodeTopology")):
            shown = None if topology is None else go_selector(topology)
            causes.invalid("nodeTopology", shown, IMMUTABLE)
        name = "storageClassName"
        immutable(value[name], old[name], name, causes)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        topology = value.get("nodeTopology") or {}
        warn_of_node_term(topology, "nodeTopology", context)
        for key in topology.get("matchLabels") or ():
            if newer := newer_node_label(key, context.dialect):
                context.warn(f"nodeTopology.matchLabels.{key}: {newer}")
