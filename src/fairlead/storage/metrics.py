"""Metrics of the store."""

from __future__ import annotations

from fairlead.base.metrics import REGISTRY, SIZES

COMMITS = REGISTRY.counter("fairlead_storage_commits", "Commits, by how they ended.", ("result",))
BATCH_SIZES = REGISTRY.histogram(
    "fairlead_storage_batch_writes", "Writes that went into one commit.", SIZES
)
COMMIT_SECONDS = REGISTRY.histogram(
    "fairlead_storage_commit_duration_seconds", "Time of a commit, its fsync included."
)
FEED_LAG = REGISTRY.histogram(
    "fairlead_storage_feed_lag_seconds", "From a commit to its changes being handed out."
)
QUEUE_DEPTH = REGISTRY.gauge(
    "fairlead_storage_queue_depth", "Writes that wait for the next commit."
)
REFUSED = REGISTRY.counter(
    "fairlead_storage_refused_writes", "Writes that must be tried again, by reason.", ("reason",)
)
FOLLOWER_FAILURES = REGISTRY.counter(
    "fairlead_storage_follower_failures", "Followers that raised, by resource.", ("resource",)
)
WATCHERS_ENDED = REGISTRY.counter(
    "fairlead_storage_watchers_ended", "Watchers that were cut off, by reason.", ("reason",)
)
FEED_RESTARTS = REGISTRY.counter(
    "fairlead_storage_feed_restarts", "Times that the feed of a shared store was begun anew."
)
WATCH_ENCODES = REGISTRY.counter(
    "fairlead_watch_encodes", "Watch events that were encoded, by resource.", ("resource",)
)
HISTORY_BYTES = REGISTRY.gauge(
    "fairlead_storage_history_bytes", "Memory held by superseded versions."
)
KEPT_FORMS_BYTES = REGISTRY.gauge(
    "fairlead_storage_kept_forms_bytes",
    "Memory held by other forms of stored objects: encodings, cells of Tables.",
)
FORMS_MADE = REGISTRY.counter(
    "fairlead_storage_forms_made", "Forms of stored objects that were made and kept."
)
FORMS_DROPPED = REGISTRY.counter(
    "fairlead_storage_forms_dropped", "Forms that had to make room for others."
)
