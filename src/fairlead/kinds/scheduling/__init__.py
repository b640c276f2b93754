"""Kinds of the scheduling group."""

from fairlead.kinds.behaviour import Behaviour
from fairlead.kinds.scheduling.priority_classes import PriorityClassBehaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "scheduling/v1/priorityclasses": PriorityClassBehaviour,
}
