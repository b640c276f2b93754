"""The testing API: the record of requests, pausing, moving the clock, and waiting until idle."""

from __future__ import annotations

from contextlib import closing

from support.client import Object
from support.namespaces import Space
from support.power import Power
from support.process import ServerProcess


def test_every_request_is_on_the_record(power: Power) -> None:
    power.maps.create("a", data={"k": "v"})
    power.maps.patch("a", {"data": {"k": "w"}})
    power.maps.get("nothing")
    request = power.requests("spec.resource=configmaps")
    assert [(item["spec"]["verb"], item["status"]["code"]) for item in request] == [
        ("create", 201),
        ("patch", 200),
        ("get", 404),
    ]
    patch = request[1]["spec"]
    assert patch["body"] == {"data": {"k": "w"}}
    assert patch["contentType"] == "application/merge-patch+json"
    assert (patch["user"], patch["userAgent"], patch["name"]) == ("admin", "tests/1.0", "a")


def test_refused_requests_are_on_the_record(power: Power) -> None:
    power.client.get(power.maps.path, headers={"Impersonate-User": "jane"})
    (refused,) = power.requests("spec.verb=list", "status.code=403")
    assert refused["spec"]["user"] == "jane"


def test_the_record_can_be_cleared(power: Power) -> None:
    power.maps.list()
    assert power.client.delete(f"{power.base}/requests").status == 200
    assert power.requests() == []


def test_a_watch_is_on_the_record_while_it_goes_on(power: Power) -> None:
    with power.maps.watch():
        (request,) = power.requests("spec.verb=watch")
        assert "status" not in request


def deployment(name: str, replicas: int) -> Object:
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }


def test_when_there_is_nothing_left_to_do(power: Power) -> None:
    path = f"/apis/apps/v1/namespaces/{power.space.name}/deployments"
    power.client.post(path, deployment("web", 3))
    rested = power.do("idlewaits")
    assert float(rested["status"]["seconds"]) >= 0.05
    assert power.client.get(f"{path}/web").body["status"]["readyReplicas"] == 3


def test_who_is_still_busy_is_told(power: Power) -> None:
    power.fault({"namespaces": [power.space.name]}, delay="5s")
    with closing(power.client.connect()) as connection:
        connection.request("GET", power.maps.path, headers=power.client.head_of())
        answer = power.ask("idlewaits", timeout="300ms")
    assert answer.status == 504
    assert answer.causes == [("requests", "Busy", "1 requests")]


def test_a_controller_is_paused_and_goes_on(power: Power) -> None:
    path = f"/apis/apps/v1/namespaces/{power.space.name}/replicasets"
    assert power.do("controllers/deployment/pause")["status"]["paused"]
    try:
        deployments = f"/apis/apps/v1/namespaces/{power.space.name}/deployments"
        power.client.post(deployments, deployment("web", 1))
        power.do("idlewaits")
        assert power.client.get(path).names == []
    finally:
        power.do("controllers/deployment/resume")
    power.do("idlewaits")
    assert len(power.client.get(path).names) == 1


def test_controllers_are_listed(power: Power) -> None:
    names = power.client.get(f"{power.base}/controllers").names
    assert {"deployment", "namespace-controller", "job"} <= set(names)
    assert power.ask("controllers/nothing/pause").status == 404


def test_the_clock_moves_and_what_is_due_happens(power: Power) -> None:
    path = f"/apis/batch/v1/namespaces/{power.space.name}/cronjobs"
    template = {
        "spec": {
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "c", "image": "i"}],
                }
            }
        }
    }
    spec = {"schedule": "0 0 * * *", "jobTemplate": template}
    power.client.post(path, {"metadata": {"name": "daily"}, "spec": spec})
    power.do("idlewaits")
    before = power.client.get(f"{power.base}/clocks/clock").body["status"]
    after = power.do("clocks/clock/move", by="24h")["status"]
    assert after["aheadSeconds"] - before["aheadSeconds"] == 86400
    power.do("idlewaits")
    jobs = power.client.get(f"/apis/batch/v1/namespaces/{power.space.name}/jobs")
    assert len(jobs.names) == 1


def test_the_clock_does_not_go_back(power: Power) -> None:
    answer = power.ask("clocks/clock/move", to="2020-01-01T00:00:00.000000Z")
    assert answer.status == 400
    assert "forward only" in answer.message


def test_a_user_without_rights_has_no_powers(power: Power) -> None:
    headers = {"Impersonate-User": "jane"}
    answer = power.client.get(f"{power.base}/snapshots", headers=headers)
    assert answer.status == 403


def test_other_servers_have_none(kubernetes: Space) -> None:
    assert kubernetes.client.get("/apis/testing.fairlead.dev/v1/snapshots").status == 404
    groups = kubernetes.client.get("/apis").body["groups"]
    assert "testing.fairlead.dev" not in [group["name"] for group in groups]


def test_the_group_is_discovered(testing_server: ServerProcess, power: Power) -> None:
    groups = power.client.get("/apis").body["groups"]
    assert "testing.fairlead.dev" in [group["name"] for group in groups]
