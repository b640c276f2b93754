"""Metrics of controllers, under the reference's names so that existing dashboards work."""

from __future__ import annotations

from fairlead.base.metrics import REGISTRY

DEPTH = REGISTRY.gauge("workqueue_depth", "Keys waiting in the queue.", ("name",))
ADDS = REGISTRY.counter("workqueue_adds", "Keys added to the queue.", ("name",))
RETRIES = REGISTRY.counter("workqueue_retries", "Keys queued again after a failure.", ("name",))
SECONDS = REGISTRY.histogram(
    "workqueue_work_duration_seconds", "Duration of the work on a key.", labels=("name",)
)
WAITED = REGISTRY.histogram(
    "workqueue_queue_duration_seconds", "Time that a key waited in the queue.", labels=("name",)
)
UNFINISHED = REGISTRY.gauge(
    "workqueue_unfinished_work_seconds",
    "How long the keys have been worked on that are not finished, together.",
    ("name",),
)
LONGEST = REGISTRY.gauge(
    "workqueue_longest_running_processor_seconds",
    "How long the key has been worked on that was begun first.",
    ("name",),
)
LEADING = REGISTRY.gauge(
    "leader_election_master_status", "1 if this server holds the lease, else 0.", ("name",)
)
