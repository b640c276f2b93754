"""Pods, and whatever carries a pod spec."""

# Words of the API that many parts go by.
FINISHED = ("Succeeded", "Failed")  # phases
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "PreferNoSchedule", "NoExecute"
