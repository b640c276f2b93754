"""The audit log: records the user, time, target and result of requests."""
