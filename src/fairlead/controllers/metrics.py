"""Metrics of controllers, under the reference's names so that existing dashboards work."""

from __future__ import annotations

from fairlead.base.metrics import REGISTRY

DEPTH = REGISTRY.gauge("workqueue_depth", "Keys waiting in the queue.", ("name",))
ADDS = REGISTRY.counter("workqueue_adds", "Keys added to the queue.", ("name",))
RETRIES = REGISTRY.counter("workqueue_retries", "Keys queued again after a failure.", ("name",))
SECONDS = REGISTRY.histogram(
    "workqueue_work_duration_seconds", "Duration of the work on a key.", labels=("name",)
)
LEADING = REGISTRY.gauge(
    "leader_election_master_status", "1 if this server holds the lease, else 0.", ("name",)
)
