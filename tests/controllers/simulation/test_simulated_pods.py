"""The lives of pods on simulated nodes."""

from __future__ import annotations

import signal
from functools import partial

import pytest
from support.namespaces import Space
from support.process import FreshServer
from support.simulation import Pods, await_nodes, behaviour, container
from support.waiting import eventually
from support.workloads import replicated, template


def test_a_pod_runs_and_is_ready(any_pods: Pods) -> None:
    any_pods.create()
    any_pods.await_ready()
    pod = any_pods.read()
    status = pod["status"]
    node = any_pods.nodes.read(pod["spec"]["nodeName"])
    assert status["phase"] == "Running"
    assert status["hostIP"] == node["status"]["addresses"][0]["address"]
    assert status["podIP"].rpartition(".")[0] == node["spec"]["podCIDR"].rpartition(".")[0]
    (container_status,) = status["containerStatuses"]
    assert container_status["ready"]
    assert container_status["started"]
    assert container_status["state"]["running"]["startedAt"] >= status["startTime"]
    assert container_status["image"] == "docker.io/library/nginx:1"
    assert container_status["imageID"].startswith("docker.io/library/nginx@sha256:")
    assert container_status["containerID"].startswith("simulated://")
    kinds = [condition["type"] for condition in status["conditions"]]
    assert kinds == ["Initialized", "Ready", "ContainersReady", "PodScheduled"]


def test_a_pod_of_release_1_36_says_whether_it_has_a_network(pods_1_36: Pods) -> None:
    pods, kind = pods_1_36, "PodReadyToStartContainers"
    pods.create()
    pods.await_ready()
    assert pods.read()["status"]["conditions"][0]["type"] == kind
    assert pods.condition("p", kind)["status"] == "True"
    pods.create("q", container(image="job:1"), restartPolicy="Never")
    pods.await_phase("Succeeded", "q")
    assert pods.condition("q", kind)["status"] == "False"


def test_what_happens_to_a_pod_is_told(pods: Pods) -> None:
    pods.create()
    started = pods.await_event("Started")
    told_of = {event["reason"]: event["message"] for event in pods.events()}
    assert told_of == {
        "Scheduled": f"Successfully assigned {pods.space.name}/p to {pods.node_of()}",
        "Pulled": 'Container image "nginx:1" already present on machine',
        "Created": "Created container c",
        "Started": "Started container c",
    }
    assert started["involvedObject"]["fieldPath"] == "spec.containers{c}"
    assert started["source"] == {"component": "kubelet", "host": pods.node_of()}


def test_pods_have_addresses_of_their_own_but_those_on_the_host_network(pods: Pods) -> None:
    names = [f"p{number}" for number in range(6)]
    for name in names:
        pods.create(name)
    pods.create("host", hostNetwork=True)
    pods.await_ready(*names, "host")
    assert len({pods.status(name)["podIP"] for name in names}) == len(names)
    assert pods.status("host")["podIP"] == pods.status("host")["hostIP"]


def test_a_delayed_pod_is_being_created_meanwhile(pods: Pods) -> None:
    pods.create(annotations=behaviour(start_delay="1h"))
    pods.await_waiting("ContainerCreating")
    status = pods.status()
    assert status["phase"] == "Pending"
    assert "podIP" not in status
    ready = pods.condition("p", "Ready")
    assert ready["reason"] == "ContainersNotReady"
    assert ready["message"] == "containers with unready status: [c]"
    pods.server.advance(3600)
    pods.await_ready()


def test_a_pod_can_stay_unready_for_a_while_or_for_ever(pods: Pods) -> None:
    pods.create("late", annotations=behaviour(ready_after="1h"))
    probe = {"exec": {"command": ["true"]}}
    pods.create("never", container(readinessProbe=probe), annotations=behaviour(never_ready="true"))
    pods.await_event("Unhealthy", "never", "Readiness probe failed")
    pods.await_phase("Running", "late")
    assert not pods.is_ready("late")
    pods.server.advance(3600)
    pods.await_ready("late")
    assert not pods.is_ready("never")


def test_containers_that_prepare_a_pod_run_one_after_the_other(pods: Pods) -> None:
    initial = [container("first"), container("second"), container("third")]
    pods.create(initContainers=initial, annotations=behaviour(**{"exit_after.second": "1h"}))

    def states() -> list[str]:
        result = pods.status().get("initContainerStatuses", [])
        return [next(iter(item["state"])) for item in result]

    eventually(lambda: states() == ["terminated", "running", "waiting"], "the second runs")
    assert pods.status()["phase"] == "Pending"
    assert pods.state()["waiting"]["reason"] == "PodInitializing"
    text = "containers with incomplete status: [second third]"
    assert pods.condition("p", "Initialized")["message"] == text
    pods.server.advance(3600)
    pods.await_ready()
    assert states() == ["terminated"] * 3
    assert [item["ready"] for item in pods.status()["initContainerStatuses"]] == [True] * 3


def test_a_failed_preparation_fails_a_pod_that_is_not_restarted(pods: Pods) -> None:
    pods.create(
        initContainers=[container("first")],
        restartPolicy="Never",
        annotations=behaviour(**{"exit_code.first": "2"}),
    )
    status = pods.await_phase("Failed")
    assert status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 2
    assert "waiting" in status["containerStatuses"][0]["state"]


def test_a_pod_that_is_not_restarted_completes(any_pods: Pods) -> None:
    any_pods.create("p", container(image="job:1"), restartPolicy="Never")
    status = any_pods.await_phase("Succeeded")
    ended = status["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (0, "Completed")
    ready = any_pods.condition("p", "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "PodCompleted")


def test_the_programs_of_a_job_end_although_they_declare_probes_and_ports(any_pods: Pods) -> None:
    probe = {"exec": {"command": ["pgrep", "made"]}}
    server = container(image="made:1", readinessProbe=probe, ports=[{"containerPort": 80}])
    any_pods.create("server", server, restartPolicy="Never")
    jobs = any_pods.space.collection("jobs", "batch")
    made = {"spec": {"containers": [server], "restartPolicy": "Never"}}
    jobs.create("j", spec={"template": made})
    eventually(lambda: jobs.read("j")["status"].get("succeeded") == 1, "the job is done")
    assert any_pods.status("server")["phase"] == "Running"


def test_a_pod_fails_with_its_exit_code_when_its_time_has_come(pods: Pods) -> None:
    pods.create(restartPolicy="Never", annotations=behaviour(exit_code="7", exit_after="1h"))
    pods.await_ready()
    pods.server.advance(3600)
    status = pods.await_phase("Failed")
    ended = status["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (7, "Error")


def test_only_what_failed_is_restarted_on_failure(pods: Pods) -> None:
    pods.create(
        "p",
        container("good", image="job:1"),
        container("bad", image="job:1"),
        restartPolicy="OnFailure",
        annotations=behaviour(**{"exit_code.bad": "1"}),
    )
    eventually(
        lambda: (
            [
                container_status["restartCount"]
                for container_status in pods.status().get("containerStatuses", [])
            ]
            == [0, 1]
        ),
        "the bad one is restarted",
    )
    assert pods.state()["terminated"]["exitCode"] == 0
    assert pods.status()["phase"] == "Running"


def test_crashing_containers_are_restarted_after_pauses_that_grow(pods: Pods) -> None:
    def has_restarted(times: int) -> bool:
        status = pods.status().get("containerStatuses", [{}])[0]
        return bool(status.get("restartCount") == times)

    pods.create(annotations=behaviour(exit_code="1", exit_after="0s"))
    for restarts, pause in ((1, "10s"), (2, "20s"), (3, "40s"), (4, "1m20s")):
        eventually(partial(has_restarted, restarts), f"{restarts} restarts")
        status = pods.await_waiting("CrashLoopBackOff")
        metadata = pods.read()["metadata"]
        whole = f"p_{metadata['namespace']}({metadata['uid']})"
        text = f"back-off {pause} restarting failed container=c pod={whole}"
        assert status["state"]["waiting"]["message"] == text
        assert status["lastState"]["terminated"]["exitCode"] == 1
        pods.server.advance(81)
    pods.await_event("BackOff", text="Back-off restarting failed container")
    assert pods.status()["phase"] == "Running"


def test_an_image_that_cannot_be_pulled_is_tried_again_and_again(pods: Pods) -> None:
    pods.create(annotations=behaviour(image_pull_failure="no such thing"))
    pods.await_event("Failed", text="Error: ErrImagePull")
    pods.server.advance(3)
    status = pods.await_waiting("ImagePullBackOff")
    assert status["state"]["waiting"]["message"] == 'Back-off pulling image "nginx:1"'
    pods.await_event("Failed", text='Failed to pull image "nginx:1": no such thing')
    pods.await_event("Failed", text="Error: ImagePullBackOff")
    assert pods.status()["phase"] == "Pending"
    gone = {"metadata": {"annotations": {"simulation.fairlead/image-pull-failure": None}}}
    assert pods.collection.patch("p", gone).status == 200
    pods.await_ready()


def test_readiness_gates_are_waited_for(pods: Pods) -> None:
    gate = "example.com/open"
    pods.create(readinessGates=[{"conditionType": gate}])
    pods.await_phase("Running")
    ready = pods.condition("p", "Ready")
    assert ready["reason"] == "ReadinessGatesNotReady"
    text = f'corresponding condition of pod readiness gate "{gate}" does not exist.'
    assert ready["message"] == text
    conditions = [*pods.status()["conditions"], {"type": gate, "status": "True"}]
    answer = pods.space.client.patch(
        pods.collection.item("p", "status"), {"status": {"conditions": conditions}}
    )
    assert answer.status == 200
    pods.await_ready()


def test_ephemeral_containers_run_beside_the_others(pods: Pods) -> None:
    pods.create()
    pods.await_ready()
    added = {"spec": {"ephemeralContainers": [{"name": "debugger", "image": "busybox"}]}}
    path = pods.collection.item("p", "ephemeralcontainers")
    assert pods.space.client.patch(path, added).status == 200
    eventually(lambda: "ephemeralContainerStatuses" in pods.status(), "it runs")
    assert "running" in pods.status()["ephemeralContainerStatuses"][0]["state"]


def test_a_pod_that_takes_too_long_fails(pods: Pods) -> None:
    pods.create(activeDeadlineSeconds=100)
    pods.await_ready()
    pods.server.advance(100)
    status = pods.await_phase("Failed")
    assert status["reason"] == "DeadlineExceeded"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137


def test_a_pod_that_never_ran_and_takes_too_long_fails(pods: Pods) -> None:
    pods.create(annotations=behaviour(image_pull_failure="no"), activeDeadlineSeconds=100)
    pods.await_event("Failed")
    pods.server.advance(100)
    pods.await_phase("Failed")
    assert pods.state()["terminated"]["reason"] == "ContainerStatusUnknown"


def test_a_deleted_pod_stops_at_once(any_pods: Pods) -> None:
    any_pods.create()
    any_pods.await_ready()
    any_pods.collection.remove("p")
    any_pods.await_gone()
    any_pods.await_event("Killing", text="Stopping container c")


@pytest.mark.parametrize(("fixture", "phase"), [("pods", "Running"), ("pods_1_36", "Succeeded")])
def test_a_watcher_sees_that_a_deleted_pod_has_stopped_before_it_goes(
    request: pytest.FixtureRequest, fixture: str, phase: str
) -> None:
    pods: Pods = request.getfixturevalue(fixture)
    pods.create()
    pods.await_ready()
    with pods.collection.watch(resourceVersion=pods.collection.version()) as watch:
        pods.collection.remove("p")
        seen = [watch.next()]
        while seen[-1].type != "DELETED":
            seen.append(watch.next())
    deleted, *_, stopped = (event.object["status"] for event in seen if event.type == "MODIFIED")
    assert deleted["containerStatuses"][0]["ready"]
    ready = [item["status"] for item in stopped["conditions"] if item["type"] == "Ready"]
    assert ready == ["False"]
    assert stopped["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    assert stopped["phase"] == phase


LOOKED_AT = {"finalizers": ["example.com/look"]}  # so that a deleted pod can be read
UNKNOWN = {
    "exitCode": 137,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
    "startedAt": None,
    "finishedAt": None,
}


@pytest.mark.parametrize(("fixture", "phase"), [("pods", "Pending"), ("pods_1_36", "Failed")])
@pytest.mark.parametrize("policy", ["Always", "Never"])
def test_nothing_is_known_of_containers_that_were_deleted_before_they_ran(
    request: pytest.FixtureRequest, fixture: str, phase: str, policy: str
) -> None:
    pods: Pods = request.getfixturevalue(fixture)
    failing = behaviour(image_pull_failure="no")
    pods.create(annotations=failing, metadata=LOOKED_AT, restartPolicy=policy)
    pods.await_event("Failed")
    pods.collection.remove("p")
    eventually(lambda: "terminated" in pods.state(), "its container has ended")
    assert pods.state() == {"terminated": UNKNOWN}
    pods.collection.patch("p", {"metadata": {"labels": {"look": "again"}}})
    assert pods.status()["phase"] == phase
    assert pods.condition("p", "Ready")["status"] == "False"
    pods.collection.patch("p", {"metadata": {"finalizers": None}})
    pods.await_gone()


def test_containers_of_a_deleted_pod_wait_for_init_containers_that_never_completed(
    pods_1_36: Pods,
) -> None:
    pods = pods_1_36
    first = [container(name) for name in ("done", "stuck", "last")]
    failing = behaviour(**{"image-pull-failure.stuck": "no"})
    pods.create(annotations=failing, metadata=LOOKED_AT, initContainers=first)
    pods.await_event("Failed")
    pods.collection.remove("p")
    status = pods.await_phase("Failed")
    done, stuck, last = (each["state"] for each in status["initContainerStatuses"])
    assert done["terminated"]["exitCode"] == 0
    assert [set(each) for each in (stuck, last, pods.state())] == [{"waiting"}] * 3


def test_a_pod_that_waits_for_a_restart_ends_as_it_did_before(pods_1_36: Pods) -> None:
    pods = pods_1_36
    pods.create(annotations=behaviour(exit_code="3"), metadata=LOOKED_AT)
    eventually(
        lambda: "waiting" in pods.state() and pods.status()["phase"] == "Running", "it waits"
    )
    last = pods.status()["containerStatuses"][0]["lastState"]["terminated"]
    pods.collection.remove("p")
    pods.await_phase("Failed")
    assert pods.state() == {"terminated": last}


def test_a_pod_stops_when_its_hook_has_slept(any_pods: Pods) -> None:
    pods = any_pods
    hook = {"preStop": {"exec": {"command": ["/bin/sh", "-c", "sleep 100 && true"]}}}
    pods.create("p", container(lifecycle=hook), terminationGracePeriodSeconds=1000)
    pods.await_ready()
    pods.collection.remove("p")
    pods.await_event("Killing")
    assert pods.is_ready()
    pods.server.advance(50)
    pods.create("other")  # by the time that it runs the first would have gone
    pods.await_ready("other")
    assert pods.collection.get("p").status == 200
    pods.server.advance(51)
    pods.await_gone()


def test_a_second_deletion_brings_the_end_of_a_pod_nearer(any_pods: Pods) -> None:
    pods = any_pods
    pods.create(annotations=behaviour(stop_after="10h"), terminationGracePeriodSeconds=1000)
    pods.await_ready()
    pods.collection.remove("p")
    pods.await_event("Killing")
    pods.server.advance(100)
    assert pods.collection.delete("p", gracePeriodSeconds=150).status == 200
    pods.server.advance(25)
    pods.create("other")  # by the time that it runs the first would have gone
    pods.await_ready("other")
    assert pods.collection.get("p").status == 200
    pods.server.advance(130)
    pods.await_gone()


def test_a_pod_that_does_not_stop_is_killed_when_its_time_is_up(any_pods: Pods) -> None:
    pods = any_pods
    pods.create(
        annotations=behaviour(stop_after="10h"),
        metadata={"finalizers": ["example.com/look"]},
        terminationGracePeriodSeconds=100,
    )
    pods.await_ready()
    pods.collection.remove("p")
    pods.await_event("Killing")
    pods.server.advance(101)
    eventually(lambda: "terminated" in pods.state(), "it is killed")
    assert pods.state()["terminated"]["exitCode"] == 137
    eventually(
        lambda: pods.read()["metadata"]["deletionGracePeriodSeconds"] == 0, "nothing is left of it"
    )
    assert pods.collection.patch("p", {"metadata": {"finalizers": None}}).status == 200
    pods.await_gone()


def test_a_pod_may_be_given_all_the_time_in_the_world(pods: Pods) -> None:
    hook = {"preStop": {"exec": {"command": ["sleep", "9999h"]}}}
    pods.create("p", container(lifecycle=hook), terminationGracePeriodSeconds=2**62)
    pods.await_ready()
    pods.collection.remove("p")
    pods.await_event("Killing")
    pods.create("q")
    pods.await_ready("q")
    assert pods.read("p")["metadata"]["deletionGracePeriodSeconds"] == 2**62


def test_a_node_that_has_no_address_left_starts_no_pod(fresh_server: FreshServer) -> None:
    server = fresh_server("--simulate-nodes=1")
    pods = Pods(Space(server, server.client()))
    await_nodes(server, 1)
    room = {"status": {"allocatable": {"pods": "300"}}}
    path = pods.nodes.item("simulated-0", "status")
    assert pods.space.client.patch(path, room).status == 200
    spec = replicated(253, template=template(nodeName="simulated-0"))
    pods.space.collection("deployments", "apps").create("many", spec=spec)
    running = {"fieldSelector": "status.phase=Running"}
    eventually(lambda: len(pods.collection.names(**running)) == 253, "all addresses are taken")
    pods.create("more", nodeName="simulated-0")
    pods.await_event("FailedCreatePodSandBox", "more")
    assert pods.status("more")["phase"] == "Pending"
    pods.create("host", nodeName="simulated-0", hostNetwork=True)
    pods.await_ready("host")


def test_settings_that_cannot_be_read_are_told_and_change_nothing(pods: Pods) -> None:
    pods.create(annotations=behaviour(exit_code="999", start_delay="soon", colour="red"))
    pods.await_ready()
    code = '"999" is not an exit code: 0 to 255'
    pods.await_event("InvalidSimulation", text=f"simulation.fairlead/exit-code: {code}")
    pods.await_event("InvalidSimulation", text='"soon" is not a duration such as 5s or 1m30s')
    pods.await_event("InvalidSimulation", text="simulation.fairlead/colour: there is no such")


def test_logs_are_what_was_configured(pods: Pods) -> None:
    pods.create("p", container(), container("side"), annotations=behaviour(log="one\ntwo\nthree"))
    pods.await_ready()
    assert pods.log(container="c") == "one\ntwo\nthree\n"
    assert pods.log(container="c", tailLines=1) == "three\n"
    assert pods.log(container="c", limitBytes=5) == "one\nt"
    started = pods.state()["running"]["startedAt"]
    assert pods.log(container="c", timestamps="true", tailLines=1) == f"{started} three\n"
    pods.server.advance(100)
    assert pods.log(container="c", sinceSeconds=50) == ""


def test_logs_tell_of_starts_and_ends_by_default(pods: Pods) -> None:
    pods.create(restartPolicy="Never", annotations=behaviour(exit_code="3"))
    pods.await_phase("Failed")
    first, last = pods.log().splitlines()
    whole = f"{pods.space.name}/p"
    assert first == f"c of {whole} started, image docker.io/library/nginx:1"
    assert last == f"c of {whole} ended with exit code 3"


def test_a_log_is_followed_until_its_container_ends(pods: Pods) -> None:
    pods.create(annotations=behaviour(log="one"))
    pods.await_ready()
    client = pods.space.client.clone()
    connection = client.connect()
    path = pods.collection.item("p", "log")
    connection.request("GET", f"{path}?follow=true", headers=client.head_of())
    response = connection.getresponse()
    assert response.read(4) == b"one\n"
    pods.collection.remove("p")
    assert response.read() == b""
    connection.close()


def test_who_follows_a_log_does_not_hold_up_the_end_of_a_server(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--simulate-nodes=1", "--shutdown-grace=1h")
    pods = Pods(Space(server, server.client()))
    pods.create()
    pods.await_ready()
    client = pods.space.client.clone()
    connection = client.connect()
    path = pods.collection.item("p", "log")
    connection.request("GET", f"{path}?follow=true", headers=client.head_of())
    response = connection.getresponse()
    assert response.readline()
    server.signal(signal.SIGTERM)
    assert response.read() == b""
    connection.close()
    assert server.wait() == 0


def test_containers_that_never_started_have_no_log(pods: Pods) -> None:
    pods.create(annotations=behaviour(image_pull_failure="no"))
    pods.await_event("Failed")
    text = 'container "c" in pod "p" is waiting to start: trying and failing to pull image'
    assert pods.log_refusal() == text
    pods.create("q")
    pods.await_ready("q")
    text = 'previous terminated container "c" in pod "q" not found'
    assert pods.log_refusal("q", previous="true") == text


def test_a_restart_rule_restarts_all_containers(pods_1_36: Pods) -> None:
    pods = pods_1_36
    codes = {"operator": "In", "values": [42]}
    rules = [{"action": "RestartAllContainers", "exitCodes": codes}]
    worker = container("worker", restartPolicy="Never", restartPolicyRules=rules)
    settings = behaviour(**{"exit-code.worker": "42", "exit-after.worker": "5s"})
    first = [container("first")]
    pods.create("p", container("server"), worker, annotations=settings, initContainers=first)
    pods.await_ready("p")
    assert pods.condition("p", "AllContainersRestarting")["status"] == "False"
    with pods.collection.watch() as watch:
        pods.server.advance(6)
        reasons = (
            each.get("reason") for event in watch for each in event.object["status"]["conditions"]
        )
        assert "RestartAllContainersStarted" in reasons

    def restarts() -> list[int]:
        status = pods.status()
        lists = (status["initContainerStatuses"], status["containerStatuses"])
        return [item["restartCount"] for items in lists for item in items]

    eventually(lambda: restarts() == [1, 1, 1], "every container has restarted")
    assert pods.status()["phase"] == "Running"
    assert pods.condition("p", "AllContainersRestarting")["status"] == "False"
    assert pods.condition("p", "Initialized")["status"] == "True"
    server = pods.status()["containerStatuses"][0]
    assert server["lastState"]["terminated"]["exitCode"] == 137
