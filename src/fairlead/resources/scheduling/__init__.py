"""Kinds of the scheduling group."""

BEHAVIOURS: dict[str, str] = {
    "scheduling/v1/priorityclasses": "priority_classes.PriorityClassBehaviour",
}
