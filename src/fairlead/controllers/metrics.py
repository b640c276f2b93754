"""Metrics of controllers, under the reference's names so that existing dashboards work."""

from __future__ import annotations

from fairlead.base.metrics import REGISTRY

DEPTH = REGISTRY.gauge("workqueue_depth", "Keys that wait for a controller.", ("name",))
ADDS = REGISTRY.counter("workqueue_adds", "Keys that were queued.", ("name",))
RETRIES = REGISTRY.counter("workqueue_retries", "Keys whose work failed.", ("name",))
SECONDS = REGISTRY.histogram(
    "workqueue_work_duration_seconds", "Time of the work on a key.", labels=("name",)
)
LEADING = REGISTRY.gauge(
    "leader_election_master_status", "1 if this server holds the lease, else 0.", ("name",)
)
