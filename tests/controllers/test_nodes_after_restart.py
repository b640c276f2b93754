"""A new controller catches up with what happened to nodes and pods while none ran."""

from __future__ import annotations

from support.client import Object
from support.nodes import Cluster
from support.process import FreshServer
from support.waiting import eventually

VIEW = "/apis/rbac.authorization.k8s.io/v1/clusterroles/view"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
LONG_AGO = "2020-01-01T00:00:00Z"
BROKEN = {"key": "broken", "effect": "NoExecute", "timeAdded": LONG_AGO}
FOR_AN_HOUR = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3600}


def finished_job() -> Object:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    spec = {"suspend": True, "template": {"spec": pod}, "ttlSecondsAfterFinished": 60}
    return {"metadata": {"name": "j", "finalizers": ["example.com/held"]}, "spec": spec}


def test_node_controllers_make_up_for_what_happened_during_a_restart(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--controllers=-*")
    before = Cluster(server)
    lost = before.node("lost", ready="Unknown")
    broken = before.node("broken", spec={"taints": [BROKEN]})
    on_lost, on_broken = before.pod("a", lost), before.pod("b", broken)
    just_come = before.pod("c", broken, [FOR_AN_HOUR])
    assert before.client.post(JOBS, finished_job()).status == 201
    ended = {"type": "Complete", "status": "True", "lastTransitionTime": LONG_AGO}
    before.client.patch(f"{JOBS}/j/status", {"status": {"conditions": [ended]}})

    client = server.client()
    assert client.get(VIEW).body["rules"] is None
    assert before.taints(lost) == {("not-ready", "NoSchedule")}
    assert not before.is_leaving(on_broken)

    server.kill()
    server.flags = ()
    server.start()
    after = before
    after.client = client = server.client()
    assert client.get(VIEW).body["rules"]
    eventually(lambda: after.taints(lost) == {("unreachable", "NoSchedule")}, "it is tainted")
    eventually(
        lambda: client.get(on_lost).body["status"]["conditions"][0]["status"] == "False",
        "its pod is not ready",
    )
    eventually(lambda: after.is_leaving(on_broken), "a pod that should have left does")
    eventually(
        lambda: "deletionTimestamp" in client.get(f"{JOBS}/j").body["metadata"],
        "a job that should have gone does",
    )
    assert not after.is_leaving(just_come)
