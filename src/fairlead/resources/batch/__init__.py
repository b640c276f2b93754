"""Kinds of the batch group."""

BEHAVIOURS: dict[str, str] = {
    "batch/v1/cronjobs": "cron_jobs.CronJobBehaviour",
    "batch/v1/jobs": "jobs.JobBehaviour",
}
