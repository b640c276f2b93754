"""Kinds of the autoscaling group."""

from fairlead.kinds.autoscaling import conversion  # noqa: F401  (declares the versions)
from fairlead.kinds.autoscaling.autoscalers import AutoscalerBehaviour
from fairlead.kinds.behaviour import Behaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "autoscaling/v2/horizontalpodautoscalers": AutoscalerBehaviour,
}
