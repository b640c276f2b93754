"""Names of Jobs that others than their rules know."""

TRACKING = "batch.@/job-tracking"  # the finalizer of pods that are yet to count, and an annotation
INDEXED = "Indexed"  # the completion mode
