"""Probes and hooks of simulated containers, and how containers stop."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.client import Object
from support.simulation import Pods, container
from support.waiting import eventually


def shell(script: str, **fields: Any) -> dict[str, Any]:
    return container(command=["sh", "-c", script], **fields)


def running(*words: str, **settings: Any) -> dict[str, Any]:
    """A probe that runs a command."""
    return {"exec": {"command": list(words)}, **settings}


def restarts(pods: Pods, name: str = "p") -> int:
    statuses = pods.status(name).get("containerStatuses") or [{}]
    count: int = statuses[0].get("restartCount", -1)
    return count


def test_a_container_is_ready_as_long_as_its_command_says_so(any_pods: Pods) -> None:
    probe = running("cat", "/tmp/ready", periodSeconds=10, failureThreshold=2)
    script = "sleep 50; touch /tmp/ready; sleep 100; rm /tmp/ready; sleep 9999"
    any_pods.create("p", shell(script, readinessProbe=probe))
    text = "Readiness probe failed: cat: /tmp/ready: No such file or directory\n"
    event = any_pods.await_event("Unhealthy", text=text)
    assert event["involvedObject"]["fieldPath"] == "spec.containers{c}"
    assert any_pods.condition("p", "Ready")["reason"] == "ContainersNotReady"
    any_pods.server.advance(60)
    any_pods.await_ready()
    any_pods.server.advance(100)
    eventually(lambda: not any_pods.is_ready(), "it is not ready any more")
    assert restarts(any_pods) == 0


def test_a_container_whose_command_says_that_it_is_ill_is_restarted(any_pods: Pods) -> None:
    pods = any_pods
    probe = running("cat", "/tmp/healthy", periodSeconds=5, terminationGracePeriodSeconds=7)
    script = "touch /tmp/healthy; sleep 30; rm /tmp/healthy; sleep 9999"
    pods.create("p", shell(script, livenessProbe=probe))
    pods.await_ready()
    pods.server.advance(50)
    pods.await_event("Unhealthy", text="Liveness probe failed: cat: /tmp/healthy: No such file")
    text = "Container c failed liveness probe, will be restarted"
    pods.await_event("Killing", text=text)
    assert restarts(pods) == 0, "sleep ignores SIGTERM, so it gets its grace period"
    pods.server.advance(8)
    eventually(lambda: restarts(pods) == 1, "it is restarted")
    last = pods.status()["containerStatuses"][0]["lastState"]["terminated"]
    assert last["exitCode"] == 137
    pods.await_ready()


@pytest.mark.parametrize("family", ["containers", "initContainers"])
def test_the_grace_period_of_a_probe_takes_precedence_over_that_of_the_pod(
    pods_1_36: Pods, family: str
) -> None:
    pods = pods_1_36
    http = {"httpGet": {"path": "/healthz", "port": 8080}, "initialDelaySeconds": 10}
    probe = {**http, "failureThreshold": 1, "terminationGracePeriodSeconds": 5}
    idle = shell("sleep 1000", name="idle", image="busybox", livenessProbe=probe)
    spec: dict[str, Any] = {"terminationGracePeriodSeconds": 500}
    if family == "initContainers":
        spec[family] = [{**idle, "restartPolicy": "Always"}]
    pods.create("p", *([idle] if family == "containers" else [shell("sleep 1000")]), **spec)
    pods.await_ready()
    pods.server.advance(11)
    told = pods.await_event("Unhealthy")["message"]
    call, refused = 'Get "http://.*:8080/healthz"', "dial tcp .*:8080: connect: connection refused"
    assert re.fullmatch(f"Liveness probe failed: {call}: {refused}", told)
    list_name = f"{family.removesuffix('s')}Statuses"
    pods.await_event("Killing")
    assert pods.status()[list_name][0]["restartCount"] == 0
    pods.server.advance(6)
    eventually(lambda: pods.status()[list_name][0]["restartCount"] == 1, "it is restarted")


def test_a_container_that_does_not_start_in_time_is_killed(pods_1_36: Pods) -> None:
    pods = pods_1_36
    probe = running("test", "-f", "/tmp/started", periodSeconds=10, failureThreshold=3)
    fields = {"startupProbe": probe, "livenessProbe": running("false", failureThreshold=1)}
    pods.create("p", shell("sleep 9999", **fields), restartPolicy="Never")
    pods.await_event("Unhealthy", text="Startup probe failed: ")
    (status,) = pods.status()["containerStatuses"]
    assert (status["started"], status["ready"]) == (False, False)
    pods.server.advance(30)
    pods.await_event("Killing", text="Container c failed startup probe")
    pods.server.advance(30)
    assert pods.await_phase("Failed")
    assert not [event for event in pods.events() if "Liveness" in event["message"]]


def test_probes_that_need_what_the_simulation_does_not_know_succeed(pods: Pods) -> None:
    port = {"httpGet": {"path": "/healthz", "port": 8080}}
    pods.create(
        "p",
        container("a", readinessProbe=running("redis-cli", "ping"), livenessProbe=port),
        container("b", readinessProbe=running("sh", "-c", "redis-cli ping | grep PONG")),
        container("c", readinessProbe={"tcpSocket": {"port": 1}}, startupProbe=port),
    )
    pods.await_ready()
    assert not [event for event in pods.events() if event["reason"] == "Unhealthy"]


@pytest.mark.parametrize(
    "script",
    [
        "cd /; exec nginx",
        "nginx & sleep 9999",
        "a=(1 2); nginx",
        "while :; do :; done",
        "/start.sh",
    ],
)
def test_a_port_is_taken_to_be_open_where_a_script_may_have_begun_a_server(
    pods: Pods, script: str
) -> None:
    probe = {"tcpSocket": {"port": 8080}}
    pods.create("p", container(command=["bash", "-c", script], readinessProbe=probe))
    pods.await_ready()


def test_a_container_runs_when_its_first_hook_has_ended(pods_1_36: Pods) -> None:
    pods = pods_1_36
    hook = {"postStart": running("sh", "-c", "sleep 60; touch /tmp/hooked")}
    probe = running("cat", "/tmp/hooked")
    pods.create("p", container(lifecycle=hook, readinessProbe=probe))
    pods.await_waiting("ContainerCreating")
    pods.server.advance(60)
    pods.await_ready()


def test_a_container_whose_first_hook_fails_is_restarted(pods: Pods) -> None:
    pods.create("p", container(lifecycle={"postStart": running("false")}))
    eventually(lambda: restarts(pods) >= 1, "it is restarted")
    pods.await_event("FailedPostStartHook", text="PostStartHook failed")
    pods.await_event("Killing", text="FailedPostStartHook")


@pytest.mark.parametrize(
    ("script", "seconds", "code"),
    [
        ("sleep 9999", 100, 137),
        ("trap 'exit 3' TERM; sleep 9999 & wait", 0, 3),
        ("trap 'exit 0' TERM; while true; do sleep 10; done", 10, 0),
        ("trap '' TERM; sleep 60; exit 5", 60, 5),
    ],
)
def test_a_command_that_is_told_to_stop_ends_as_it_does_in_a_container(
    pods: Pods, script: str, seconds: int, code: int
) -> None:
    pods.create(
        "p",
        shell(script),
        restartPolicy="Never",
        metadata={"finalizers": ["example.com/look"]},
        terminationGracePeriodSeconds=100,
    )
    pods.await_phase("Running")
    pods.collection.remove("p")
    pods.await_event("Killing", text="Stopping container c")
    if seconds:
        assert "running" in pods.state()
        pods.server.advance(seconds)
    eventually(lambda: "terminated" in pods.state(), "it ends")
    assert pods.state()["terminated"]["exitCode"] == code
    assert pods.status()["phase"] == ("Failed" if code else "Succeeded")
    assert pods.collection.patch("p", {"metadata": {"finalizers": None}}).status == 200
    pods.await_gone()


@pytest.mark.parametrize(
    "told", [shell("echo started; exec nginx"), container(image="registry.k8s.io/pause:3.10")]
)
def test_a_program_that_only_its_image_knows_stops_at_once(pods: Pods, told: Object) -> None:
    pods.create("p", told)
    pods.await_ready()
    pods.collection.remove("p")
    pods.await_gone()


def test_sidecars_stop_after_the_other_containers(pods_1_36: Pods) -> None:
    pods = pods_1_36
    side = [container("side", restartPolicy="Always")]
    slow = "trap 'sleep 50; exit 0' TERM; sleep 9999 & wait"
    pods.create("p", shell(slow), initContainers=side, terminationGracePeriodSeconds=100)
    pods.await_ready()
    pods.collection.remove("p")
    pods.await_event("Killing", text="Stopping container side")
    assert "running" in pods.status()["initContainerStatuses"][0]["state"]
    assert pods.is_ready()
    pods.server.advance(51)
    pods.await_gone()


FINISHES: dict[str, Any] = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1000}


def sidecar(name: str, end: int, **lifecycle: Any) -> Object:
    """A sidecar that takes 50 seconds to stop, and how it ends then."""
    script = f"trap 'sleep 50; echo {name} >> /v/ends; exit {end}' TERM; sleep 9999 & wait"
    mounts = [{"name": "v", "mountPath": "/v"}]
    named = {"name": name, "restartPolicy": "Always", "lifecycle": lifecycle}
    return shell(script, volumeMounts=mounts, **named)


def of_first(pods: Pods) -> list[Object]:
    statuses = pods.status().get("initContainerStatuses") or [{"state": {}}] * 2
    return [each["state"] for each in statuses]


def test_sidecars_stop_one_after_the_other_when_their_pod_has_finished(pods_1_36: Pods) -> None:
    pods = pods_1_36
    hook = {"preStop": running("sh", "-c", "sleep 30; echo hook >> /proc/1/fd/1")}
    first = [sidecar("a", 0, **hook), sidecar("b", 7, **hook)]
    spec = {**FINISHES, "volumes": [{"name": "v", "emptyDir": {}}]}
    main = shell("sleep 60; exit 0")
    pods.create("p", main, initContainers=first, **spec)
    pods.await_ready()
    pods.server.advance(60)
    pods.await_event("Killing", text="Stopping container b")
    pods.await_event("Killing", text="Stopping container a")
    eventually(lambda: "terminated" in pods.state(), "its container has ended")
    assert ["running" in each for each in of_first(pods)] == [True, True]
    assert pods.status()["phase"] == "Running"
    assert pods.condition("p", "Ready")["reason"] == "PodCompleted"
    pods.server.advance(81)
    eventually(lambda: "terminated" in of_first(pods)[1], "the last sidecar has ended")
    assert "running" in of_first(pods)[0], "it waits for its turn"
    assert pods.log("p", container="a") == "hook\n", "all hooks begin at once"
    pods.server.advance(50)
    pods.await_phase("Succeeded")
    assert [each["terminated"]["exitCode"] for each in of_first(pods)] == [0, 7]
    assert [each["restartCount"] for each in pods.status()["initContainerStatuses"]] == [0, 0]


def test_a_sidecar_stops_when_an_init_container_after_it_has_failed(pods_1_36: Pods) -> None:
    pods = pods_1_36
    first = [sidecar("a", 0), {**shell("sleep 60; exit 1"), "name": "b"}]
    spec = {**FINISHES, "volumes": [{"name": "v", "emptyDir": {}}]}
    pods.create("p", initContainers=first, **spec)
    eventually(lambda: "running" in of_first(pods)[1], "it runs")
    pods.server.advance(60)
    pods.await_event("Killing", text="Stopping container a")
    assert pods.status()["phase"] == "Pending"
    pods.server.advance(51)
    pods.await_phase("Failed")
    assert "waiting" in pods.state()


def test_a_container_has_two_seconds_after_a_hook_that_took_all_its_time(pods: Pods) -> None:
    hook = {"preStop": running("sleep", "9999")}
    script = "trap 'sleep 1; exit 4' TERM; sleep 9999 & wait"
    pods.create(
        "p",
        shell(script, lifecycle=hook),
        shell("trap 'sleep 9' TERM; sleep 9999 & wait", name="slow", lifecycle=hook),
        metadata={"finalizers": ["example.com/look"]},
        terminationGracePeriodSeconds=100,
    )
    pods.await_ready()
    pods.collection.remove("p")
    pods.await_event("Killing", text="Stopping container slow")
    pods.server.advance(103)
    eventually(lambda: "terminated" in pods.state(index=1), "both have ended")
    codes = [pods.state(index=index)["terminated"]["exitCode"] for index in (0, 1)]
    assert codes == [4, 137]
    pods.collection.patch("p", {"metadata": {"finalizers": None}})
    pods.await_gone()


def test_a_hook_that_fails_before_the_end_is_told(pods: Pods) -> None:
    pods.create("p", container(lifecycle={"preStop": running("sh", "-c", "exit 1")}))
    pods.await_ready()
    pods.collection.remove("p")
    pods.await_gone()
    pods.await_event("FailedPreStopHook", text="PreStopHook failed")


def test_hooks_and_clients_write_into_the_log_of_a_container(pods: Pods) -> None:
    hook = {"exec": {"command": ["sh", "-c", "echo stopping > /proc/1/fd/1; sleep 9999"]}}
    pods.create("p", shell("echo began; sleep 9999", lifecycle={"preStop": hook}))
    pods.await_ready()
    assert pods.run("sh", "-c", "echo asked >> /proc/1/fd/2; echo answer").stdout == "answer\n"
    assert pods.log("p") == "began\nasked\n"
    pods.collection.delete("p")
    eventually(lambda: pods.log("p") == "began\nasked\nstopping\n", "the hook has written")


def test_a_server_with_an_exec_probe_can_be_told_to_exit(pods: Pods) -> None:
    image = "registry.k8s.io/e2e-test-images/agnhost:2.63.0"
    probe = running("true")
    pods.create("p", container(image=image, args=["netexec"], readinessProbe=probe))
    pods.await_ready()
    path = pods.collection.item("p:8080", "proxy/exit?code=3")
    assert pods.space.client.get(path).status == 200
    eventually(lambda: restarts(pods) == 1, "it is restarted")
    assert pods.status()["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 3
