"""What Behaviour objects and the `script` annotation make of simulated containers."""

from __future__ import annotations

import pytest
from support.client import Object
from support.simulation import Outcome, Pods, behaviour, container

PSQL = {"command": ["psql", "-c", "*"], "stdout": "1\n", "stderr": "slow\n", "exitCode": 3}


def test_a_scripted_command_prints_and_ends_as_it_says(any_pods: Pods) -> None:
    any_pods.script(commands=[PSQL, {"command": ["psql", "..."], "stdout": "other\n"}])
    any_pods.create()
    any_pods.await_ready()
    assert any_pods.run("psql", "-c", "select * from t") == Outcome("1\n", "slow\n", 3)
    assert any_pods.run("/usr/bin/psql", "-c", "x") == Outcome("1\n", "slow\n", 3)
    assert any_pods.run("psql", "-c") == Outcome("other\n", "", 0)
    assert any_pods.run("sh", "-c", "psql -c x 2>&1 | wc -l; psql") == Outcome("2\nother\n", "", 0)
    assert any_pods.run("pg_dump").code == 127


def test_a_changed_behaviour_counts_for_later_commands(pods_1_36: Pods) -> None:
    pods = pods_1_36
    pods.create()
    pods.await_ready()
    pods.script(commands=[{"command": ["true"], "exitCode": 1}])
    assert pods.run("true").code == 1
    pods.behaviours.patch("b", {"spec": {"commands": [{"command": ["true"], "exitCode": 2}]}})
    assert pods.run("true").code == 2
    pods.behaviours.remove("b")
    assert pods.run("true").code == 0


def test_files_are_there_from_the_start_and_after_a_command(pods_1_36: Pods) -> None:
    written = {"command": ["init"], "files": {"/data/new/done": "yes", "/config/key": "refused"}}
    pods_1_36.script(files={"/etc/app/motd": "hello\n"}, commands=[written])
    pods_1_36.space.config_maps.create("config", data={"key": "1"})
    volumes = [{"name": "config", "configMap": {"name": "config"}}]
    mounts = [{"name": "config", "mountPath": "/config"}]
    pods_1_36.create("p", container(volumeMounts=mounts), volumes=volumes)
    pods_1_36.await_ready()
    assert pods_1_36.run("cat", "/etc/app/motd").stdout == "hello\n"
    assert pods_1_36.run("cat", "/data/new/done").code == 1
    assert pods_1_36.run("init") == Outcome("", "", 0)
    assert pods_1_36.run("cat", "/data/new/done", "/config/key").stdout == "yes1"


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ({}, ["db/app", "db/side", "web/app"]),
        ({"pods": ["d*"]}, ["db/app", "db/side"]),
        ({"containers": ["side", "other"]}, ["db/side"]),
        ({"images": ["postgres:*"]}, ["db/app"]),
        ({"pods": []}, []),
        ({"labels": {"matchLabels": {"tier": "back"}}}, ["db/app", "db/side"]),
        (
            {"labels": {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}},
            ["web/app"],
        ),
        ({"labels": {"matchLabels": {"tier": "back"}}, "images": ["nginx:1"]}, ["db/side"]),
    ],
)
def test_a_behaviour_selects_containers(
    selecting: Pods, selector: Object, selected: list[str]
) -> None:
    selecting.script(selector=selector, commands=[{"command": ["scripted"]}])
    found = [
        f"{pod}/{name}"
        for pod, name in (("db", "app"), ("db", "side"), ("web", "app"))
        if selecting.run("scripted", name=pod, container=name).code == 0
    ]
    selecting.behaviours.remove("b")
    assert found == selected


@pytest.fixture
def selecting(pods_1_36: Pods) -> Pods:
    """The pods `db` (labelled `tier: back`), of two containers, and `web`."""
    database = container("app", image="postgres:16")
    pods_1_36.create("db", database, container("side"), labels={"tier": "back"})
    pods_1_36.create("web", container("app"))
    pods_1_36.await_ready("db", "web")
    return pods_1_36


def test_annotations_come_before_objects_and_objects_by_name(pods_1_36: Pods) -> None:
    pods = pods_1_36
    pods.script("a", commands=[{"command": ["x"], "stdout": "a"}])
    pods.script("b", commands=[{"command": ["x"], "stdout": "b"}], files={"/f": "of b"})
    own = "commands:\n- command: [x]\n  stdout: annotated\n"
    pods.create("plain")
    pods.create("own", container(), container("d"), annotations={**behaviour(script=own)})
    one = {"simulation.fairlead/script.d": own}
    pods.create("one", container(), container("d"), annotations=one)
    pods.await_ready("plain", "own", "one")
    assert pods.run("x", name="plain").stdout == "a"
    assert pods.run("x", name="own", container="c").stdout == "annotated"
    assert pods.run("x", name="one", container="c").stdout == "a"
    assert pods.run("x", name="one", container="d").stdout == "annotated"
    assert pods.run("cat", "/f", name="own", container="d").stdout == "of b"


def test_a_script_decides_the_life_of_a_container(any_pods: Pods) -> None:
    migrate = {"command": ["migrate"], "stdout": "done\n", "delay": "1s", "exitCode": 4}
    serve = {"command": ["serve", "..."], "stdout": "listening\n"}
    whole = {"command": ["..."], "stdout": "whole\n", "exitCode": 5}
    any_pods.script(selector={"images": ["nginx:1"]}, commands=[migrate, serve])
    any_pods.script("whole", selector={"images": ["whole"]}, commands=[whole])
    any_pods.create("p", container(command=["migrate"]), restartPolicy="Never")
    any_pods.create("served", container(args=["serve", "--port", "1"]), restartPolicy="Always")
    any_pods.create("whole", container(image="whole"), restartPolicy="Never")
    any_pods.await_ready("served")
    assert any_pods.log("served") == "listening\n"
    any_pods.await_phase("Failed", "whole")
    any_pods.await_phase("Failed")
    assert any_pods.state()["terminated"]["exitCode"] == 4
    assert any_pods.log() == "done\n"
    assert any_pods.log("whole") == "whole\n"
    assert any_pods.state("whole")["terminated"]["exitCode"] == 5


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("commands: [{command: x}]", "spec.commands[0].command"),
        ("commands: [{command: [x], exitCode: 256}]", "spec.commands[0].exitCode"),
        ("selector: {pods: [x]}", "spec.selector is not a field of scripts in annotations"),
        ("ports: [{port: 1, forward: 'h:1'}]", "spec.ports[0].forward is not a field"),
        ("a: &a [*a]", "yaml"),
        ("{", "yaml"),
        ("[]", "it is not an object"),
        ("files: {a: " + "x" * 17_000 + "}", "it is longer than 16 KiB"),
    ],
)
def test_a_wrong_annotation_is_reported_and_ignored(
    pods_1_36: Pods, script: str, problem: str
) -> None:
    pods_1_36.create(annotations=behaviour(script=script))
    pods_1_36.await_event("InvalidSimulation", text=problem)
    pods_1_36.await_ready()
    assert pods_1_36.run("true").code == 0


def test_an_image_cannot_be_pulled_until_its_behaviour_is_gone(any_pods: Pods) -> None:
    any_pods.script(selector={"images": ["private/*"]}, pullFailure="manifest unknown")
    any_pods.create("p", container(image="private/app:1"))
    any_pods.await_event("Failed", text='Failed to pull image "private/app:1": manifest unknown')
    any_pods.await_waiting("ErrImagePull")
    any_pods.server.advance(3)
    any_pods.await_waiting("ImagePullBackOff")
    any_pods.behaviours.remove("b")
    any_pods.await_ready()


def test_a_new_behaviour_ends_the_containers_that_it_selects(pods_1_36: Pods) -> None:
    pods_1_36.create("p", container(command=["serve"]), restartPolicy="Always")
    pods_1_36.create("q", container(command=["other"]), restartPolicy="Always")
    pods_1_36.await_ready("p", "q")
    pods_1_36.script(commands=[{"command": ["serve"], "exitCode": 1}])
    pods_1_36.await_waiting("CrashLoopBackOff")
    assert pods_1_36.is_ready("q")


def test_a_namespace_cannot_have_more_behaviours_than_count(pods_1_36: Pods) -> None:
    for number in range(16):  # 33 terms each; 500 count
        selector = {"pods": ["x"] * 31, "containers": ["c"]}
        pods_1_36.script(f"a{number:02}", selector=selector, files={})
    pods_1_36.script("b", commands=[{"command": ["late"]}])
    pods_1_36.create()
    pods_1_36.await_ready()
    assert pods_1_36.run("late").code == 127
    pods_1_36.behaviours.remove("a00")
    pods_1_36.behaviours.remove("a01")
    assert pods_1_36.run("late").code == 0


def test_probes_and_hooks_run_scripted_commands(pods: Pods) -> None:
    pods.script(
        commands=[
            {"command": ["check"], "stderr": "no connection\n", "exitCode": 1},
            {"command": ["drain"], "delay": "20s"},
            {"command": ["serve"], "stdout": "listening\n"},
        ]
    )
    hook = {"preStop": {"exec": {"command": ["drain"]}}}
    probe = {"exec": {"command": ["check"]}, "periodSeconds": 5}
    own = container(command=["serve"], readinessProbe=probe, lifecycle=hook)
    pods.create("p", own, terminationGracePeriodSeconds=60)
    pods.await_event("Unhealthy", text="no connection")
    pods.behaviours.patch("b", {"spec": {"commands": [{"command": ["drain"], "delay": "20s"}]}})
    pods.server.advance(6)
    pods.await_ready()
    pods.collection.delete("p")
    pods.server.advance(15)
    assert not pods.is_gone()
    pods.server.advance(6)
    pods.await_gone()


def test_a_scripted_server_ends_when_it_is_told_to(pods_1_36: Pods) -> None:
    pods_1_36.script(commands=[{"command": ["serve"], "stdout": "listening\n"}])
    pods_1_36.create("p", container(command=["serve"]))
    pods_1_36.await_ready()
    pods_1_36.collection.delete("p")
    pods_1_36.await_gone()
