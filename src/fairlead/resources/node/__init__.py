"""Kinds of the node group."""

BEHAVIOURS: dict[str, str] = {
    "node/v1/runtimeclasses": "runtime_classes.RuntimeClassBehaviour",
}
