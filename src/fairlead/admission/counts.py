"""What admission counts."""

from __future__ import annotations

from fairlead.metrics import REGISTRY

REFUSALS = REGISTRY.counter(
    "fairlead_admission_refusals",
    "Writes that a plugin refused, by plugin and operation.",
    ("plugin", "operation"),
)
