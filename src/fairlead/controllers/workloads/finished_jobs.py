"""Deletes finished Jobs after their ttlSecondsAfterFinished."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.base.clock import time
from fairlead.codec.types.times import parse_time
from fairlead.controllers.framework import Keys
from fairlead.controllers.workloads.jobs.controller import JOBS
from fairlead.controllers.workloads.jobs.progress import COMPLETE, FAILED
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.storage.version import Change


def finished_at(job: Object) -> float | None:
    """When a Job finished, or None."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in (COMPLETE, FAILED) and condition["status"] == "True":
            moment = condition.get("lastTransitionTime")
            return parse_time(moment).timestamp() if moment else None
    return None


class FinishedJobs:
    """Keys are `namespace/name` of Jobs. Deletes in the foreground: the Job's pods go first."""

    workers = 5

    def __init__(self, objects: Client) -> None:
        self._objects = objects

    def follows(self) -> Mapping[str, Keys]:
        return {JOBS: self._job}

    def _job(self, change: Change) -> Iterable[str]:
        job = change.after
        if job is None or not job.mentions("ttlSecondsAfterFinished"):
            return ()
        return (change.key,) if job.mentions("conditions") else ()

    async def sync(self, key: str) -> float | None:
        namespace, _, name = key.partition("/")
        job = self._objects.find(JOBS, namespace, name)
        if job is None or job["metadata"].get("deletionTimestamp") is not None:
            return None
        patience, finished = job["spec"].get("ttlSecondsAfterFinished"), finished_at(job)
        if patience is None or finished is None:
            return None
        left: float = finished + patience - time()
        if left > 0:
            return left
        options = DeleteOptions(propagation="Foreground", uid=job["metadata"]["uid"])
        await self._objects.delete(JOBS, namespace, name, options)
        return None
