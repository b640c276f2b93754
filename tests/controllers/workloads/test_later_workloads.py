"""Controllers of workloads in release 1.36."""

from __future__ import annotations

from typing import Any

from support.namespaces import Space
from support.waiting import eventually

Object = dict[str, Any]
POD = {
    "restartPolicy": "Never",
    "automountServiceAccountToken": False,
    "containers": [{"name": "c", "image": "i"}],
}
INDEX = "batch.kubernetes.io/job-completion-index"


class Jobs:
    """A Job in a namespace of its own, whose pods the test ends."""

    def __init__(self, space: Space, **spec: Any) -> None:
        self._pods, self._jobs = space.collection("pods"), space.collection("jobs", "batch")
        indexed = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}
        self._jobs.create("j", spec={"template": {"spec": POD}, **indexed, **spec})

    def status(self) -> Object:
        status: Object = self._jobs.read("j").get("status") or {}
        return status

    def end(self, index: int, phase: str) -> None:
        """End the active pod of an index."""
        pods = self._pods

        def active() -> list[str]:
            return [
                pod["metadata"]["name"]
                for pod in pods.list().body["items"]
                if pod["metadata"]["annotations"].get(INDEX) == str(index)
                and pod["status"]["phase"] == "Pending"
            ]

        eventually(lambda: bool(active()), f"there is a pod of index {index}")
        answer = pods.client.patch(pods.item(active()[0], "status"), {"status": {"phase": phase}})
        assert answer.status == 200

    def ends_with(self, kind: str, reason: str) -> None:
        def has_ended() -> bool:
            conditions = self.status().get("conditions") or ()
            return any(c["type"] == kind and c["reason"] == reason for c in conditions)

        eventually(has_ended, f"the Job is {kind} by {reason}")


def test_a_job_fails_if_an_index_failed_but_runs_the_others(space_1_36: Space) -> None:
    jobs = Jobs(space_1_36, backoffLimitPerIndex=0)
    jobs.end(1, "Failed")
    jobs.end(0, "Succeeded")
    jobs.end(2, "Succeeded")
    jobs.ends_with("Failed", "FailedIndexes")
    status = jobs.status()
    assert (status["completedIndexes"], status["failedIndexes"]) == ("0,2", "1")


def test_a_job_completes_by_its_success_policy(space_1_36: Space) -> None:
    jobs = Jobs(space_1_36, successPolicy={"rules": [{"succeededIndexes": "1"}]})
    jobs.end(1, "Succeeded")
    jobs.ends_with("Complete", "SuccessPolicy")
    assert jobs.status().get("active", 0) == 0


def test_the_pods_of_a_stateful_set_start_at_its_first_ordinal(space_1_36: Space) -> None:
    labels = {"app": "s"}
    spec = {
        "replicas": 2,
        "podManagementPolicy": "Parallel",
        "serviceName": "s",
        "ordinals": {"start": 4},
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {**POD, "restartPolicy": "Always"}},
    }
    space_1_36.collection("statefulsets", "apps").create("s", spec=spec)
    pods = space_1_36.collection("pods")
    eventually(lambda: set(pods.names()) == {"s-4", "s-5"}, "there are the pods 4 and 5")
    assert pods.read("s-5")["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "5"


def test_a_job_of_another_controller_is_left_alone(space_1_36: Space) -> None:
    jobs = space_1_36.collection("jobs", "batch")
    jobs.create("other", spec={"template": {"spec": POD}, "managedBy": "example.com/c"})
    jobs.create("own", spec={"template": {"spec": POD}})
    eventually(lambda: "startTime" in jobs.read("own").get("status", {}), "our own Job started")
    assert jobs.read("other").get("status", {}) == {}


def test_events_of_a_deployment_name_both_sizes_of_its_replica_set(space_1_36: Space) -> None:
    deployments = space_1_36.collection("deployments", "apps")
    events = space_1_36.collection("events")
    labels = {"app": "d"}
    template = {"metadata": {"labels": labels}, "spec": {**POD, "restartPolicy": "Always"}}
    deployments.create("d", spec={"selector": {"matchLabels": labels}, "template": template})

    def is_recorded(text: str) -> bool:
        return any(event["message"].endswith(text) for event in events.list().body["items"])

    eventually(lambda: is_recorded(" from 0 to 1"), "the creation is recorded")
    deployments.client.patch(deployments.item("d"), {"spec": {"replicas": 3}})
    eventually(lambda: is_recorded(" from 1 to 3"), "the change is recorded")
