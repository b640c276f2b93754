"""Pods, and the pod specs in other kinds."""

# Words of the API that many packages use.
FINISHED = ("Succeeded", "Failed")  # phases
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "PreferNoSchedule", "NoExecute"
