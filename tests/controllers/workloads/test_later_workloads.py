"""Controllers of workloads in release 1.36."""

from __future__ import annotations

from typing import Any

from support.namespaces import Space
from support.simulation import Pods
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
        pod = {**POD, "schedulerName": "none"}
        self._jobs.create("j", spec={"template": {"spec": pod}, **indexed, **spec})

    def status(self) -> Object:
        status: Object = self._jobs.read("j").get("status") or {}
        return status

    def active(self, index: int) -> list[Object]:
        """The active pods of an index."""
        return [
            pod
            for pod in self._pods.list().body["items"]
            if pod["metadata"]["annotations"].get(INDEX) == str(index)
            and pod["status"]["phase"] == "Pending"
        ]

    def end(self, index: int, phase: str) -> str:
        """End the active pod of an index; returns its name."""
        eventually(lambda: bool(self.active(index)), f"there is a pod of index {index}")
        name: str = self.active(index)[0]["metadata"]["name"]
        path = self._pods.item(name, "status")
        answer = self._pods.client.patch(path, {"status": {"phase": phase}})
        assert answer.status == 200
        return name

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


def test_each_index_pauses_by_itself_and_keeps_its_failures(pods_1_36: Pods) -> None:
    server, pods = pods_1_36.server, pods_1_36.collection
    jobs = Jobs(pods_1_36.space, backoffLimitPerIndex=5)
    jobs.end(0, "Failed")
    server.advance(11)
    failed = jobs.end(0, "Failed")
    pods.delete(failed)
    jobs.end(1, "Failed")
    server.advance(11)
    eventually(lambda: bool(jobs.active(1)), "there is a new pod of index 1")
    assert jobs.active(0) == []
    assert "deletionTimestamp" in pods.read(failed)["metadata"]
    server.advance(11)
    eventually(lambda: bool(jobs.active(0)), "there is a new pod of index 0")
    annotations = jobs.active(0)[0]["metadata"]["annotations"]
    assert annotations["batch.kubernetes.io/job-index-failure-count"] == "2"
    eventually(lambda: failed not in pods.names(), "the pod that was deleted is gone")


def test_ignored_failures_of_an_index_are_counted_apart(pods_1_36: Pods) -> None:
    ignored = {"type": "DisruptionTarget", "status": "True"}
    rules = [{"action": "Ignore", "onPodConditions": [ignored]}]
    policy = {"podFailurePolicy": {"rules": rules}}
    jobs = Jobs(pods_1_36.space, backoffLimitPerIndex=1, **policy)
    eventually(lambda: bool(jobs.active(0)), "there is a pod of index 0")
    pods = pods_1_36.collection
    name = jobs.active(0)[0]["metadata"]["name"]
    status = {"status": {"phase": "Failed", "conditions": [ignored]}}
    assert pods.client.patch(pods.item(name, "status"), status).status == 200
    pods_1_36.server.advance(11)
    eventually(lambda: bool(jobs.active(0)), "there is a new pod of index 0")
    annotations = jobs.active(0)[0]["metadata"]["annotations"]
    prefix = "batch.kubernetes.io/job-index"
    assert annotations[f"{prefix}-failure-count"] == "0"
    assert annotations[f"{prefix}-ignored-failure-count"] == "1"


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


def test_a_suspended_job_has_not_started(space_1_36: Space) -> None:
    jobs = Jobs(space_1_36)
    eventually(lambda: "startTime" in jobs.status(), "the Job started")
    change = {"spec": {"suspend": True}}
    assert space_1_36.collection("jobs", "batch").patch("j", change).status == 200
    jobs.ends_with("Suspended", "JobSuspended")
    assert "startTime" not in jobs.status()


def test_a_stateful_set_controls_the_claims_that_go_with_it(space_1_36: Space) -> None:
    """A claim of another controller stays with that one."""
    claims = space_1_36.collection("persistentvolumeclaims")
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    other = {"apiVersion": "v1", "kind": "ConfigMap", "controller": True, "name": "a"}
    other["uid"] = space_1_36.config_maps.create("a")["metadata"]["uid"]
    claims.create("d-s-0", labels={"a": "b"}, spec=claim, metadata={"ownerReferences": [other]})
    spec = {
        "replicas": 2,
        "podManagementPolicy": "Parallel",
        "serviceName": "s",
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {**POD, "restartPolicy": "Always", "schedulerName": "none"},
        },
        "volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": claim}],
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"},
    }
    sets = space_1_36.collection("statefulsets", "apps")
    sets.create("s", spec=spec)

    def owners(name: str) -> list[tuple[str, bool]]:
        answer = claims.get(name)
        references = answer.body["metadata"].get("ownerReferences") or ()
        return [(each["kind"], each.get("controller", False)) for each in references]

    eventually(lambda: owners("d-s-1") == [("StatefulSet", True)], "the set controls its claim")
    assert owners("d-s-0") == [("ConfigMap", True)]
