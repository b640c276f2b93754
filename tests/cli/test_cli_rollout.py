"""`fairlead rollout`."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from support.client import Object
from support.commands import Commands
from support.kubectl import Kubectl, compared, without_sentences
from support.namespaces import Collection, Space
from support.process import ServerProcess
from support.simulation import Pods
from support.workloads import LABELS, Workloads, replicated, template

from fairlead.base.dialect import KUBERNETES
from fairlead.cli.commands.rollout.status import versions
from fairlead.cli.errors import CommandFailed
from fairlead.cli.rollouts.state import progress_of, revision_of
from fairlead.client import Client, ResourceType

DONE = 'deployment "web" rolled out'


@pytest.fixture
def running(any_pods: Pods) -> Commands:
    """Commands where simulated nodes bring pods up, in each dialect."""
    return Commands(any_pods.space)


def deployments(fairlead: Commands) -> Collection:
    return fairlead.space.collection("deployments", "apps")


def set_image(fairlead: Commands, image: str, kind: str = "deployments", name: str = "web") -> None:
    patch = {"spec": {"template": template(image)}}
    answer = fairlead.space.collection(kind, "apps").patch(name, patch)
    assert answer.status == 200, answer.text


def image(fairlead: Commands, kind: str = "deployments", name: str = "web") -> str:
    value = fairlead.space.collection(kind, "apps").read(name)
    name = value["spec"]["template"]["spec"]["containers"][0]["image"]
    return name


def two_revisions(fairlead: Commands) -> None:
    deployments(fairlead).create("web", spec=replicated(2, "one"))
    assert fairlead("rollout", "status", "deployment/web").splitlines()[-1] == DONE
    set_image(fairlead, "two")
    assert fairlead("rollout", "status", "deploy", "web").splitlines()[-1] == DONE


def test_a_deployment_is_followed_taken_back_and_looked_back_on(running: Commands) -> None:
    two_revisions(running)
    assert running("rollout", "history", "deploy/web") == (
        "deployment.apps/web \nREVISION  CHANGE-CAUSE\n1         <none>\n2         <none>\n\n"
    )
    output = running("rollout", "history", "deploy/web", "--revision=1")
    assert output.startswith("deployment.apps/web with revision #1\nPod Template:\n  Labels:\t")
    assert "    Image:\tone\n" in output
    assert running("rollout", "undo", "deploy/web") == "deployment.apps/web rolled back\n"
    assert image(running) == "one"
    assert running("rollout", "status", "deploy/web").splitlines()[-1] == DONE
    assert running("rollout", "status", "deploy/web", "--revision=3").splitlines()[-1] == DONE
    assert running("rollout", "undo", "deploy/web", "--to-revision=3") == (
        "deployment.apps/web not changed (revision 3 is what runs now)\n"
    )


def test_the_history_can_be_printed_as_documents(running: Commands) -> None:
    two_revisions(running)
    sets = list(yaml.safe_load_all(running("rollout", "history", "deploy/web", "-o", "yaml")))
    assert [(each["apiVersion"], each["kind"]) for each in sets] == [("apps/v1", "ReplicaSet")] * 2
    one = json.loads(running("rollout", "history", "deploy/web", "--revision=2", "-o", "json"))
    assert one["spec"]["template"]["spec"]["containers"][0]["image"] == "two"


def test_dry_runs_of_undo_change_nothing(running: Commands) -> None:
    two_revisions(running)
    output = running("rollout", "undo", "deploy/web", "--dry-run=client")
    assert output.startswith("deployment.apps/web Pod Template:\n")
    assert "Image:\tone\n" in output
    assert output.endswith("\n (dry run)\n")
    assert running("rollout", "undo", "deploy/web", "--dry-run=server") == (
        "deployment.apps/web rolled back (server dry run)\n"
    )
    assert image(running) == "two"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("history", "deploy/web", "--revision=9"), "there is no such revision"),
        (("history", "deploy/web", "--revision=-1"), "--revision takes a number from 1 on, not -1"),
        (("undo", "deploy/web"), 'deployment "web" has only one revision'),
        (
            ("undo", "deploy/web", "--to-revision=9"),
            "there is no revision 9",
        ),
        (
            ("undo", "deploy/web", "--to-revision=-1"),
            "there is no revision -1",
        ),
        (
            ("status", "deploy/web", "--revision=9"),
            "the current revision is 1, not 9",
        ),
        (("status",), "required resource not specified"),
        (("status", "cm"), "rollout status follows one workload, not"),
        (("status", "cm/a"), "ConfigMap has no rollouts"),
        (("history", "cm/a"), 'no history viewer has been implemented for "ConfigMap"'),
        (("undo", "cm/a"), 'no rollbacker has been implemented for "ConfigMap"'),
        (("restart", "cm/a"), 'configmaps "a" restarting is not supported'),
        (("pause", "cm/a"), 'configmaps "a" pausing is not supported'),
        (("resume", "deploy/web"), 'deployments.apps "web" is not paused'),
    ],
)
def test_what_cannot_be_done(
    fairlead_kubernetes: Commands, words: tuple[str, ...], message: str
) -> None:
    fairlead = fairlead_kubernetes
    deployments(fairlead).create("web", spec=replicated(1))
    Workloads(fairlead.space).await_pods(1)  # by then there is a revision
    for name in ("a", "b"):
        fairlead.space.config_maps.create(name)
    ran = fairlead.run("rollout", *words)
    assert ran.code == 1
    assert ran.errors.startswith(f"error: {message}")


def test_a_rollout_that_is_not_done_is_waited_for_as_long_as_one_likes(fairlead: Commands) -> None:
    deployments(fairlead).create("web", spec=replicated(1))  # no node takes its pod
    Workloads(fairlead.space).await_pods(1)
    ran = fairlead.run("rollout", "status", "deploy/web", "--timeout=200ms")
    assert (ran.code, ran.errors) == (1, "error: not rolled out within --timeout\n")
    waiting = 'deployment "web": 0 of 1 new pods are'
    assert ran.out.splitlines()[-1] == f"{waiting} available..."
    looked = fairlead("rollout", "status", "deploy/web", "--watch=false")
    assert looked == f"{waiting} available...\n"


def test_a_rollout_that_has_failed_ends_the_wait(fairlead: Commands) -> None:
    spec = replicated(1, progressDeadlineSeconds=1)
    deployments(fairlead).create("web", spec=spec)
    ran = fairlead.run("rollout", "status", "deploy/web")
    assert ran.code == 1
    assert ran.errors == 'error: deployment "web" made no progress within its deadline\n'


@pytest.mark.parametrize(
    ("kind", "name", "done"),
    [
        ("statefulsets", "st", "rolled out above the partition: 2 new pods"),
        ("daemonsets", "da", 'daemon set "da" rolled out'),
    ],
)
def test_sets_are_followed_and_taken_back(
    running: Commands, kind: str, name: str, done: str
) -> None:
    spec = replicated(2, "one")
    if kind == "daemonsets":
        del spec["replicas"]
    else:
        spec["serviceName"] = "x"
    running.space.collection(kind, "apps").create(name, spec=spec)
    assert running("rollout", "status", kind, name).splitlines()[-1] == done
    set_image(running, "two", kind, name)
    assert running("rollout", "status", kind, name).splitlines()[-1] == done
    history = running("rollout", "history", kind, name).splitlines()
    assert [line.split()[0] for line in history[2:-1]] == ["1", "2"]
    assert "Image:\tone\n" in running("rollout", "history", kind, name, "--revision=1")
    output = running("rollout", "undo", kind, name, "--dry-run=client")
    assert " will roll back to Pod Template:\n" in output
    assert running("rollout", "undo", kind, name).endswith(" rolled back\n")
    assert image(running, kind, name) == "one"
    again = running("rollout", "undo", kind, name, "--to-revision=2")
    assert again.endswith(" rolled back\n")


def test_what_others_write_into_revisions_is_no_reason_to_fail(fairlead: Commands) -> None:
    space = fairlead.space
    spec = {**replicated(0), "serviceName": "x"}
    owner = space.collection("statefulsets", "apps").create("st", spec=spec)
    reference = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "st", "controller": True}
    metadata = {
        "ownerReferences": [{**reference, "uid": owner["metadata"]["uid"]}],
        "labels": LABELS,
    }
    revisions = space.collection("controllerrevisions", "apps")
    for number, data in enumerate(({}, {"spec": {"template": 1}}), 7):
        revisions.create(f"odd-{number}", metadata=metadata, revision=number, data=data)
    output = fairlead("rollout", "history", "sts/st")
    assert "\n7 " not in output


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("x", None), ("9" * 5000, None)])
def test_a_revision_is_a_number_of_some_length(text: str, number: int | None) -> None:
    notes = {KUBERNETES.label("deployment.@/revision"): text}
    assert revision_of({"metadata": {"annotations": notes}}, KUBERNETES) == number


def test_a_server_that_goes_away_does_not_hold_it_for_ever(
    fresh_server: Callable[..., ServerProcess],
) -> None:
    space = Space(server := fresh_server(), server.client())
    space.collection("deployments", "apps").create("web", spec=replicated(1))
    words = ("rollout", "status", "deploy/web", "-n", space.name, "--timeout=3s")
    config = str(server.data / "admin.kubeconfig")
    with subprocess.Popen(
        [sys.executable, "-m", "fairlead", *words, "--kubeconfig", config],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith('deployment "')
        server.kill()
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.count("\n") == 1


@pytest.mark.both_dialects
def test_a_restart_replaces_the_pods(fairlead: Commands) -> None:
    deployments(fairlead).create("web", spec=replicated(1))
    assert fairlead("rollout", "restart", "deployment") == "deployment.apps/web restarted\n"
    notes = deployments(fairlead).read("web")["spec"]["template"]["metadata"]["annotations"]
    name = fairlead.space.dialect.label("kubectl.@/restartedAt")
    assert list(notes) == [name]
    by = [
        entry["manager"] for entry in deployments(fairlead).read("web")["metadata"]["managedFields"]
    ]
    assert "fairlead-rollout" in by


def test_a_paused_deployment_waits_until_it_is_resumed(fairlead: Commands) -> None:
    deployments(fairlead).create("web", spec=replicated(1))
    assert fairlead("rollout", "pause", "deploy/web") == "deployment.apps/web paused\n"
    ran = fairlead.run("rollout", "restart", "deploy/web")
    assert (ran.code, ran.errors) == (
        1,
        'error: deployments.apps "web" is paused: fairlead rollout resume first\n',
    )
    back = fairlead.run("rollout", "undo", "deploy/web")
    assert back.errors.startswith("error: it is paused: fairlead rollout resume first")
    assert fairlead.run("rollout", "pause", "deploy/web").code == 1
    assert fairlead("rollout", "resume", "deploy/web") == "deployment.apps/web resumed\n"


def test_one_who_follows_an_object_hears_of_its_end(fairlead: Commands) -> None:
    deployments(fairlead).create("web", spec=replicated(0))

    async def follow() -> list[bool]:
        async with Client.load(fairlead.config) as client:
            seen = []
            async for value in versions(
                await client.resource("deployments"), "web", fairlead.space.name
            ):
                seen.append(value is not None)
                if len(seen) == 1:
                    await asyncio.to_thread(deployments(fairlead).remove, "web")
            return seen

    seen = asyncio.run(follow())
    assert (seen[0], seen[-1]) == (True, False)


def state(**status: Any) -> Object:
    return {
        "metadata": {"name": "x", "generation": 2},
        "spec": {"replicas": 3, "updateStrategy": {"type": "RollingUpdate"}},
        "status": {"observedGeneration": 2, **status},
    }


@pytest.mark.parametrize(
    ("kind", "status", "message"),
    [
        ("Deployment", {"observedGeneration": 1}, 'deployment "x": no controller has seen'),
        ("Deployment", {"updatedReplicas": 1}, "1 of 3 pods are new"),
        (
            "Deployment",
            {"updatedReplicas": 3, "replicas": 5},
            ": 2 old pods are still there...",
        ),
        ("DaemonSet", {"observedGeneration": 1}, 'daemon set "x": no controller has seen'),
        (
            "DaemonSet",
            {"desiredNumberScheduled": 2, "updatedNumberScheduled": 1},
            '"x": 1 of 2 pods are new...',
        ),
        (
            "DaemonSet",
            {"desiredNumberScheduled": 2, "updatedNumberScheduled": 2},
            '"x": 0 of 2 new pods are available...',
        ),
        ("StatefulSet", {"observedGeneration": 0}, 'stateful set "x": no controller has seen'),
        ("StatefulSet", {"readyReplicas": 1}, "2 pods are not ready yet..."),
        (
            "StatefulSet",
            {"readyReplicas": 3, "updatedReplicas": 1, "updateRevision": "b"},
            "1 pods are at revision b...",
        ),
    ],
)
def test_it_says_what_is_waited_for(kind: str, status: Object, message: str) -> None:
    progress = progress_of(ResourceType("apps", "v1", "x", kind, True), state(**status))
    assert message in progress.text
    assert not progress.is_done


def test_a_set_whose_pods_nobody_replaces_cannot_be_followed() -> None:
    value = state()
    value["spec"]["updateStrategy"] = {"type": "OnDelete"}
    with pytest.raises(CommandFailed, match="its strategy is not RollingUpdate"):
        progress_of(ResourceType("apps", "v1", "x", "DaemonSet", True), value)


CONTAINER = {
    "name": "main",
    "image": "nginx:1",
    "command": ["sh", "-c", "echo\nhi"],
    "args": ["a b"],
    "ports": [{"containerPort": 80}, {"containerPort": 90, "protocol": "UDP", "hostPort": 90}],
    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m"}},
    "env": [
        {"name": "A", "value": "b\nc"},
        {"name": "P", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "s", "key": "k"}}},
        {"name": "R", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
    ],
    "envFrom": [{"configMapRef": {"name": "cm"}, "prefix": "P"}, {"secretRef": {"name": "s"}}],
    "livenessProbe": {"httpGet": {"path": "/x", "port": 80}},
    "readinessProbe": {"tcpSocket": {"port": 80}},
    "startupProbe": {"exec": {"command": ["a", "b"]}},
    "volumeMounts": [
        {"name": "v", "mountPath": "/v"},
        {"name": "c", "mountPath": "/c", "readOnly": True, "subPath": "z"},
    ],
}
VOLUMES = [
    {"name": "v", "emptyDir": {}},
    {"name": "c", "configMap": {"name": "cm", "optional": True}},
    {"name": "s", "secret": {"secretName": "sec"}},
    {"name": "h", "hostPath": {"path": "/h"}},
    {"name": "p", "persistentVolumeClaim": {"claimName": "pc"}},
    {"name": "nn", "nfs": {"server": "a", "path": "/b"}},
    {
        "name": "d",
        "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]},
    },
    {
        "name": "pr",
        "projected": {
            "sources": [
                {"configMap": {"name": "kr"}},
                {"secret": {"name": "z"}},
                {"serviceAccountToken": {"path": "t", "expirationSeconds": 700}},
            ]
        },
    },
]


@compared
def test_the_pods_of_a_revision_are_shown_as_kubectl_shows_them(
    fairlead_kubernetes: Commands, tmp_path: Any
) -> None:
    space = fairlead_kubernetes.space
    spec = replicated(1)
    spec["template"]["metadata"]["annotations"] = {"note": "hello", "b": "x"}
    spec["template"]["spec"] |= {
        "containers": [CONTAINER, {"name": "other", "image": "busybox"}],
        "initContainers": [{"name": "first", "image": "busybox"}],
        "serviceAccountName": "default",
        "volumes": VOLUMES,
    }
    notes = {space.dialect.label("@/change-cause"): "because"}
    space.collection("deployments", "apps").create(
        "web", metadata={"annotations": notes}, spec=spec
    )
    Workloads(space).await_pods(1)
    kubectl = Kubectl(space.server, space.name, tmp_path)
    words = ("rollout", "history", "deployment/web")
    assert fairlead_kubernetes(*words) == kubectl(*words)
    theirs = without_sentences(kubectl(*words, "--revision=1"))
    assert without_sentences(fairlead_kubernetes(*words, "--revision=1")) == theirs
