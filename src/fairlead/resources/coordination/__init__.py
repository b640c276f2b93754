"""Kinds of the coordination group."""

BEHAVIOURS: dict[str, str] = {
    "coordination/v1/leases": "leases.LeaseBehaviour",
}
