"""Kinds of the autoscaling group."""

from fairlead.resources.autoscaling import conversion  # noqa: F401  (declares the versions)

BEHAVIOURS: dict[str, str] = {
    "autoscaling/v2/horizontalpodautoscalers": "autoscalers.AutoscalerBehaviour",
}
