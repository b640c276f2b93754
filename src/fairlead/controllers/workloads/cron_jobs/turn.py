"""One look at a CronJob: its status, as it is to become, and what there is to say."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.controllers.events import NORMAL, WARNING
from fairlead.controllers.workloads.jobs.progress import COMPLETE, has_ended
from fairlead.operations.api import Object
from fairlead.resources.registry import Resource


class Turn:
    """Its changes are for the status of the CronJob, which is written once, at the end."""

    def __init__(self, cron: Object) -> None:
        self.cron = cron
        self.namespace: str = cron["metadata"]["namespace"]
        self.name: str = cron["metadata"]["name"]
        self.status: Object = {**(cron.get("status") or {})}
        self.active: list[Object] = list(self.status.get("active") or ())
        self.events: list[tuple[str, str, str]] = []

    def say(self, kind: str, reason: str, text: str) -> None:
        self.events.append((kind, reason, text))

    def told(self) -> Object:
        """The status as it shall be."""
        status = {**self.status}
        status.pop("active", None)
        return {**status, "active": self.active} if self.active else status

    def is_active(self, job: Object) -> bool:
        return any(one.get("uid") == job["metadata"]["uid"] for one in self.active)

    def started(self, resource: Resource, job: Object) -> None:
        metadata = job["metadata"]
        names = ("namespace", "name", "uid", "resourceVersion")
        reference = {"kind": resource.kind, "apiVersion": resource.api_version}
        self.active.append({**reference, **{name: metadata[name] for name in names}})

    def ended(self, uid: str) -> None:
        self.active = [one for one in self.active if one.get("uid") != uid]

    def look_at(self, jobs: Iterable[Object]) -> None:
        """See what became of the Jobs."""
        known = set()
        for job in jobs:
            known.add(job["metadata"]["uid"])
            self._look_at(job)
        for one in self.active:
            if one.get("uid") not in known:
                text = f"Active job went missing: {one.get('name', '')}"
                self.say(NORMAL, "MissingJob", text)
        self.active = [one for one in self.active if one.get("uid") in known]

    def _look_at(self, job: Object) -> None:
        name, end = job["metadata"]["name"], has_ended(job)
        if not end:
            if not self.is_active(job):
                text = f"Saw a job that the controller did not create or forgot: {name}"
                self.say(WARNING, "UnexpectedJob", text)
            return
        if self.is_active(job):
            self.ended(job["metadata"]["uid"])
            text = f"Saw completed job: {name}, status: {end}"
            self.say(NORMAL, "SawCompletedJob", text)
        finished = job["status"].get("completionTime")
        if end == COMPLETE and finished and finished > self.status.get("lastSuccessfulTime", ""):
            self.status["lastSuccessfulTime"] = finished
