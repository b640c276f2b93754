"""Kinds of the flowcontrol group."""

from fairlead.kinds.behaviour import Behaviour
from fairlead.kinds.flowcontrol.flow_schemas import FlowSchemaBehaviour
from fairlead.kinds.flowcontrol.priority_levels import PriorityLevelBehaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "flowcontrol/v1beta2/flowschemas": FlowSchemaBehaviour,
    "flowcontrol/v1beta2/prioritylevelconfigurations": PriorityLevelBehaviour,
}
