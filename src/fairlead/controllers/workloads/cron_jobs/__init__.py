"""CronJob: Jobs made by a schedule."""
