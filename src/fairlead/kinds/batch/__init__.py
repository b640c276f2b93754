"""Kinds of the batch group."""

from fairlead.kinds.batch.cron_jobs import CronJobBehaviour
from fairlead.kinds.batch.jobs import JobBehaviour
from fairlead.kinds.behaviour import Behaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "batch/v1/cronjobs": CronJobBehaviour,
    "batch/v1/jobs": JobBehaviour,
}
