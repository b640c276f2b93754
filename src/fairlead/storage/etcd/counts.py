"""Metrics of etcd calls."""

from __future__ import annotations

from fairlead.base.metrics import REGISTRY

REQUEST_SECONDS = REGISTRY.histogram(
    "fairlead_etcd_request_duration_seconds", "Duration of a call to etcd.", labels=("method",)
)
FAILURES = REGISTRY.counter(
    "fairlead_etcd_request_failures", "Failed calls to etcd, by status code.", ("code",)
)
SWITCHES = REGISTRY.counter("fairlead_etcd_member_switches", "Switches to another etcd member.")
UNREADABLE = REGISTRY.counter(
    "fairlead_etcd_unreadable_values",
    "Values in etcd that could not be decoded, by resource.",
    ("resource",),
)
DATABASE_BYTES = REGISTRY.gauge(
    "etcd_db_total_size_in_bytes", "Size of etcd's database file.", ("endpoint",)
)
