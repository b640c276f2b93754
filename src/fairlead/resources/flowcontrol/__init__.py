"""Kinds of the flowcontrol group."""

BEHAVIOURS: dict[str, str] = {
    "flowcontrol/v1/flowschemas": "flow_schemas.FlowSchemaBehaviour",
    "flowcontrol/v1/prioritylevelconfigurations": "priority_levels.NominalLevelBehaviour",
    "flowcontrol/v1beta2/flowschemas": "flow_schemas.FlowSchemaBehaviour",
    "flowcontrol/v1beta2/prioritylevelconfigurations": "priority_levels.PriorityLevelBehaviour",
}
