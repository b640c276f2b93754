"""Jobs and CronJobs, whose pods finish when a test makes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from support.client import Object
from support.namespaces import Space
from support.waiting import eventually
from support.workloads import Workloads

ENDED = ("Complete", "Failed")


def job_spec(**spec: Any) -> Object:
    """Return the spec of a Job whose pods are not restarted, unless a template is given."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "one"}]}
    return {"template": {"spec": pod}, **spec}


def exited(code: int, at: str = "2020-01-01T00:00:00Z") -> list[Object]:
    """Return container statuses of a pod whose container ended."""
    state = {"terminated": {"exitCode": code, "finishedAt": at}}
    return [
        {"name": "c", "image": "one", "imageID": "", "ready": False, "restartCount": 0}
        | {"state": state}
    ]


class Jobs(Workloads):
    """The Jobs of a namespace."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.jobs = space.collection("jobs", "batch")
        self.cron_jobs = space.collection("cronjobs", "batch")
        self.tracking = space.dialect.label("batch.@/job-tracking")

    def create(self, name: str = "j", **spec: Any) -> Object:
        return self.jobs.create(name, spec=job_spec(**spec))

    def revise_job(self, name: str = "j", **spec: Any) -> None:
        answer = self.jobs.patch(name, {"spec": spec})
        assert answer.status == 200, answer.text

    def running(self, count: int) -> list[str]:
        """Return the names of the unfinished pods, once there are so many."""

        def found() -> list[str]:
            return [
                pod["metadata"]["name"]
                for pod in self.living()
                if pod["status"].get("phase") not in ("Succeeded", "Failed")
            ]

        eventually(lambda: len(found()) == count, f"{count} pods run")
        return sorted(found())

    def succeed(self, names: Iterable[str]) -> None:
        self.set_status(names, phase="Succeeded")

    def fail(self, names: Iterable[str], code: int = 1) -> None:
        """Make pods fail with an old timestamp, so that the next ones are created without
        back-off."""
        self.set_status(names, phase="Failed", containerStatuses=exited(code))

    def await_end(self, name: str = "j") -> Object:
        """Return the condition with which a Job ended, once it has."""

        def ended() -> list[Object]:
            message = self.status(self.jobs, name).get("conditions", [])
            return [item for item in message if item["type"] in ENDED and item["status"] == "True"]

        eventually(lambda: bool(ended()), f"the end of {name}")
        return ended()[0]

    def counts(self, name: str = "j") -> dict[str, int]:
        """Return how many pods of a Job are active, succeeded and failed."""
        status = self.status(self.jobs, name)
        return {part: status.get(part, 0) for part in ("active", "succeeded", "failed")}

    def await_counts(self, active: int, succeeded: int, failed: int, name: str = "j") -> None:
        wanted = {"active": active, "succeeded": succeeded, "failed": failed}
        eventually(lambda: self.counts(name) == wanted, f"{name} counts {wanted}")

    def tracked(self) -> list[str]:
        """Return the pods that are not counted yet."""
        items = self.pods.list().body["items"]
        return [
            pod["metadata"]["name"]
            for pod in items
            if self.tracking in pod["metadata"].get("finalizers", [])
        ]

    def await_untracked_but(self, count: int) -> None:
        eventually(lambda: len(self.tracked()) == count, f"{count} pods are left to count")

    def await_untracked(self) -> None:
        self.await_untracked_but(0)
