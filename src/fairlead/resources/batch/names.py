"""Names of Jobs that other packages use."""

TRACKING = "batch.@/job-tracking"  # finalizer of pods that are not yet counted; annotation of Jobs
INDEXED = "Indexed"  # the completion mode
