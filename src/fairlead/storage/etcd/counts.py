"""Metrics of etcd calls."""

from __future__ import annotations

from fairlead.base.metrics import REGISTRY

REQUEST_SECONDS = REGISTRY.histogram(
    "fairlead_etcd_request_duration_seconds", "Time of a call to etcd.", labels=("method",)
)
FAILURES = REGISTRY.counter(
    "fairlead_etcd_request_failures", "Calls to etcd that failed, by status.", ("code",)
)
SWITCHES = REGISTRY.counter(
    "fairlead_etcd_member_switches", "How often another member was turned to."
)
UNREADABLE = REGISTRY.counter(
    "fairlead_etcd_unreadable_values", "Values that could not be read, by resource.", ("resource",)
)
DATABASE_BYTES = REGISTRY.gauge(
    "etcd_db_total_size_in_bytes", "Size of etcd's database file.", ("endpoint",)
)
