"""Kinds of the node group."""

from fairlead.kinds.behaviour import Behaviour
from fairlead.kinds.node.runtime_classes import RuntimeClassBehaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "node/v1/runtimeclasses": RuntimeClassBehaviour,
}
