"""Metrics of the store."""

from __future__ import annotations

from fairlead.base.metrics import REGISTRY, SIZES

COMMITS = REGISTRY.counter("fairlead_storage_commits", "Commits, by result.", ("result",))
BATCH_SIZES = REGISTRY.histogram("fairlead_storage_batch_writes", "Writes per commit.", SIZES)
COMMIT_SECONDS = REGISTRY.histogram(
    "fairlead_storage_commit_duration_seconds", "Duration of a commit, including fsync."
)
FEED_LAG = REGISTRY.histogram(
    "fairlead_storage_feed_lag_seconds", "Time from a commit to the delivery of its changes."
)
QUEUE_DEPTH = REGISTRY.gauge("fairlead_storage_queue_depth", "Writes waiting for the next commit.")
REFUSED = REGISTRY.counter(
    "fairlead_storage_refused_writes",
    "Writes refused by the store, to be retried, by reason.",
    ("reason",),
)
FOLLOWER_FAILURES = REGISTRY.counter(
    "fairlead_storage_follower_failures",
    "Exceptions raised by followers, by resource.",
    ("resource",),
)
WATCHERS_ENDED = REGISTRY.counter(
    "fairlead_storage_watchers_ended", "Watchers closed by the server, by reason.", ("reason",)
)
FEED_RESTARTS = REGISTRY.counter(
    "fairlead_storage_feed_restarts", "Restarts of the feed of a shared store."
)
WATCH_ENCODES = REGISTRY.counter(
    "fairlead_watch_encodes", "Watch events encoded, by resource.", ("resource",)
)
HISTORY_BYTES = REGISTRY.gauge(
    "fairlead_storage_history_bytes", "Memory of old versions of objects."
)
KEPT_FORMS_BYTES = REGISTRY.gauge(
    "fairlead_storage_kept_forms_bytes",
    "Memory of cached encodings of stored objects: protobuf, cells of Tables.",
)
FORMS_MADE = REGISTRY.counter(
    "fairlead_storage_forms_made", "Encodings of stored objects that were added to the cache."
)
FORMS_DROPPED = REGISTRY.counter(
    "fairlead_storage_forms_dropped", "Cached encodings evicted to make room for others."
)
