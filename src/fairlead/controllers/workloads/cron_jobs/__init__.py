"""CronJob: creates Jobs on a schedule."""
