"""Finished Jobs with a TTL are deleted."""

from __future__ import annotations

from support.client import Object
from support.process import MOVABLE_CLOCK, FreshServer
from support.waiting import eventually

from fairlead.codec.types.times import now

JOBS = "/apis/batch/v1/namespaces/default/jobs"


def job(name: str, seconds: int | None) -> Object:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    spec: Object = {"suspend": True, "template": {"spec": pod}}
    if seconds is not None:
        spec["ttlSecondsAfterFinished"] = seconds
    return {"metadata": {"name": name, "finalizers": ["example.com/held"]}, "spec": spec}


def test_a_finished_job_is_deleted_after_its_time(fresh_server: FreshServer) -> None:
    server = fresh_server("--controllers=ttl-after-finished", prelude=MOVABLE_CLOCK)
    client = server.client()
    for name, seconds in (("asks", 60), ("later", 600), ("does-not", None), ("runs", 60)):
        assert client.post(JOBS, job(name, seconds)).status == 201
        if name != "runs":
            kind = "Failed" if name == "later" else "Complete"
            ended = {"type": kind, "status": "True", "lastTransitionTime": now()}
            answer = client.patch(f"{JOBS}/{name}/status", {"status": {"conditions": [ended]}})
            assert answer.status == 200, answer.text

    def leaving() -> list[str]:
        items = client.get(JOBS).body["items"]
        return [
            item["metadata"]["name"] for item in items if "deletionTimestamp" in item["metadata"]
        ]

    server.advance(50)
    assert leaving() == []
    server.advance(11)
    eventually(lambda: leaving() == ["asks"], "the first is deleted")
    finalizers = client.get(f"{JOBS}/asks").body["metadata"]["finalizers"]
    assert finalizers == ["example.com/held", "foregroundDeletion"]
    server.advance(600)
    eventually(lambda: leaving() == ["asks", "later"], "the second is deleted")


def test_a_time_that_is_set_afterwards_counts(fresh_server: FreshServer) -> None:
    client = fresh_server("--controllers=ttl-after-finished", dialect="cluster").client()
    assert client.post(JOBS, job("a", None)).status == 201
    ended = {"type": "Complete", "status": "True", "lastTransitionTime": now()}
    client.patch(f"{JOBS}/a/status", {"status": {"conditions": [ended]}})
    client.patch(f"{JOBS}/a", {"spec": {"ttlSecondsAfterFinished": 0}})
    eventually(
        lambda: "deletionTimestamp" in client.get(f"{JOBS}/a").body["metadata"], "it is deleted"
    )
