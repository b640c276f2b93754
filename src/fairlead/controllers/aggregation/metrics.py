"""What aggregation counts, under the names that dashboards of the reference know."""

from __future__ import annotations

from fairlead.base.metrics import REGISTRY

UNAVAILABLE = REGISTRY.gauge(
    "aggregator_unavailable_apiservice", "1 for an APIService that cannot be used.", ("name",)
)
TURNED_UNAVAILABLE = REGISTRY.counter(
    "aggregator_unavailable_apiservice_total",
    "How often an APIService became unavailable, by reason.",
    ("name", "reason"),
    bare=True,  # without the ending it has the name of the other
)
