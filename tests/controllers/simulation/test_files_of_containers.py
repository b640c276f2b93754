"""What containers find in their volumes, and how long they see what others write."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.simulation import Pods, container
from support.waiting import eventually

from fairlead.codec.types.quantity import quantity

AGNHOST = "registry.k8s.io/e2e-test-images/agnhost:2.63.0"


def mounttest(*flags: str, path: str = "/v") -> dict[str, Any]:
    mounts = [{"name": "v", "mountPath": path}]
    return container(image=AGNHOST, args=["mounttest", *flags], volumeMounts=mounts)


def run(pods: Pods, main: dict[str, Any], volume: dict[str, Any], **spec: Any) -> str:
    pods.create("p", main, volumes=[{"name": "v", **volume}], restartPolicy="Never", **spec)
    pods.await_phase("Succeeded")
    text: str = pods.log("p")
    return text


@pytest.mark.parametrize(("medium", "system"), [({}, "ext4"), ({"medium": "Memory"}, "tmpfs")])
def test_rights_and_owners_of_new_files(pods: Pods, medium: dict[str, str], system: str) -> None:
    flags = ("--fs_type=/v", "--new_file_0660=/v/f", "--file_perm=/v/f", "--file_owner=/v/f")
    security = {"runAsUser": 1001, "fsGroup": 123}
    shown = run(pods, mounttest(*flags), {"emptyDir": medium}, securityContext=security)
    assert f'mount type of "/v": {system}\n' in shown
    assert 'perms of file "/v/f": -rw-rw----\n' in shown
    assert 'owner UID of "/v/f": 1001\nowner GID of "/v/f": 123\n' in shown


def test_the_mode_of_a_secret(pods: Pods) -> None:
    pods.space.collection("secrets").create("s", stringData={"key": "text"})
    flags = ("--file_mode=/v/key", "--file_content=/v/key")
    shown = run(pods, mounttest(*flags), {"secret": {"secretName": "s", "defaultMode": 0o400}})
    assert shown == 'mode of file "/v/key": -r--------\ncontent of file "/v/key": text\n'


def test_a_running_command_sees_changes_of_its_volume(pods: Pods) -> None:
    configs = pods.space.collection("configmaps")
    configs.create("c", data={"key": "old"})
    loop = "while [ $(cat /v/key) = old ]; do sleep 0.2; done; cat /v/key; exit 4"
    main = container(command=["sh", "-c", loop], volumeMounts=[{"name": "v", "mountPath": "/v"}])
    volumes = [{"name": "v", "configMap": {"name": "c"}}]
    pods.create("p", main, volumes=volumes, restartPolicy="Never")
    pods.await_phase("Running")
    configs.patch("c", {"data": {"key": "new"}})
    pods.await_phase("Failed")
    assert pods.log("p") == "new\n"
    assert pods.state()["terminated"]["exitCode"] == 4


def test_a_file_of_labels_follows_them(pods: Pods) -> None:
    items = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
    flags = ("--break_on_expected_content=false", "--file_content_in_loop=/v/labels")
    volumes = [{"name": "v", "downwardAPI": {"items": items}}]
    pods.create("p", mounttest(*flags), volumes=volumes, labels={"a": "old"})
    pods.await_ready()
    pods.collection.patch("p", {"metadata": {"labels": {"a": "new"}}})
    eventually(lambda: 'a="new"' in pods.log("p"), "the new label is seen")
    assert 'a="old"' in pods.log("p")


def test_containers_of_a_pod_see_what_each_other_writes(pods: Pods) -> None:
    mounts = [{"name": "v", "mountPath": "/v"}]
    reader = container("r", command=["sh", "-c", "until cat /v/f; do sleep 0.2; done"])
    writer = container("w", command=["sh", "-c", "sleep 1; echo written > /v/f"])
    pods.create(
        "p",
        {**reader, "volumeMounts": mounts},
        {**writer, "volumeMounts": mounts},
        volumes=[{"name": "v", "emptyDir": {}}],
        restartPolicy="Never",
    )
    pods.await_phase("Succeeded")
    assert pods.log("p", container="r").endswith("written\n")


def test_what_a_container_wrote_is_there_when_it_restarts(pods: Pods) -> None:
    script = "if [ -f /v/f ]; then exit 0; fi; touch /v/f; exit 1"
    main = container(command=["sh", "-c", script], volumeMounts=[{"name": "v", "mountPath": "/v"}])
    volumes = [{"name": "v", "emptyDir": {}}]
    pods.create("p", main, volumes=volumes, restartPolicy="OnFailure")
    pods.await_phase("Succeeded")
    assert pods.status()["containerStatuses"][0]["restartCount"] == 1


def test_a_limit_that_a_container_does_not_have_is_that_of_its_pod(pods_1_36: Pods) -> None:
    pods = pods_1_36
    names = ("limits.cpu", "limits.memory", "limits.ephemeral-storage", "requests.cpu")
    items = [
        {"path": name, "resourceFieldRef": {"containerName": "c", "resource": name}}
        for name in names
    ]
    variables = [
        {"name": name.replace(".", "_"), "valueFrom": {"resourceFieldRef": {"resource": name}}}
        for name in names[:2]
    ]
    script = "echo $limits_cpu $limits_memory; cd /v; for f in *; do echo $f $(cat $f); done"
    mounts = [{"name": "v", "mountPath": "/v"}]
    limits = {"limits": {"memory": "32Mi"}}
    main = container(
        command=["sh", "-c", script], env=variables, volumeMounts=mounts, resources=limits
    )
    spec: dict[str, Any] = {
        "resources": {"limits": {"cpu": "3", "memory": "64Mi"}},
        "restartPolicy": "Never",
    }
    pods.create("p", main, volumes=[{"name": "v", "downwardAPI": {"items": items}}], **spec)
    pods.await_phase("Succeeded")
    [node, *_] = pods.nodes.list().body["items"]
    storage = int(quantity(node["status"]["allocatable"]["ephemeral-storage"]))
    assert pods.log() == (
        f"3 {32 * 1024**2}\nlimits.cpu 3\nlimits.ephemeral-storage {storage}\n"
        f"limits.memory {32 * 1024**2}\nrequests.cpu 0\n"
    )


def test_the_limits_of_a_container_are_in_its_control_group(pods: Pods) -> None:
    limits = {"cpu": "250m", "memory": "64Mi"}
    pods.create("p", container(resources={"limits": limits}))
    pods.await_ready()
    assert pods.run("cat", "/sys/fs/cgroup/cpu.max").stdout == "25000 100000\n"
    assert pods.run("cat", "/sys/fs/cgroup/memory.max").stdout == "67108864\n"


def test_a_machine_runs_since_its_pod_started(pods: Pods) -> None:
    pods.create("p", container())
    pods.await_ready()
    told = pods.run("uptime").stdout
    assert re.fullmatch(r" \d\d:\d\d:\d\d up 0 min,  0 users,  load average: .*\n", told)
    pods.run("sh", "-c", "echo btime $(($(date +%s) - 93784)) > /proc/stat")
    assert " up 1 day,  2:03, " in pods.run("uptime").stdout
    pods.run("rm", "/proc/stat")
    assert "No such file" in pods.run("uptime").stderr


def test_a_container_that_must_not_run_as_root_does_not_start(pods: Pods) -> None:
    security = {"runAsNonRoot": True}
    pods.create("p", container(image="busybox", command=["id"], securityContext=security))
    pods.await_waiting("CreateContainerConfigError")
    pods.create("q", container(image="example.com/own", securityContext=security))
    pods.await_ready("q")


def from_file(key: str, **reference: Any) -> dict[str, Any]:
    source = {"volumeName": "v", "path": "set.env", "key": key, **reference}
    return {"name": key, "valueFrom": {"fileKeyRef": source}}


def with_variables(pods: Pods, text: str, *env: dict[str, Any]) -> None:
    """Create a pod whose init container writes the file that its variables come from."""
    writer = container("i", command=["sh", "-c", f"cat > /v/set.env <<'EOF'\n{text}\nEOF"])
    mounts = [{"name": "v", "mountPath": "/v"}]
    pods.create(
        "p",
        container(command=["sh", "-c", "env | grep ^A_"], env=list(env)),
        initContainers=[{**writer, "volumeMounts": mounts}],
        volumes=[{"name": "v", "emptyDir": {}}],
        restartPolicy="Never",
    )


def test_variables_from_a_file_that_an_init_container_wrote(pods_1_36: Pods) -> None:
    pods = pods_1_36
    text = "# a comment\n A_ONE='1'  # one\nA_NONE= 'x'\nA_TWO='a\n# b'\nA_ONE='2'"
    optional = [from_file(key, optional=True) for key in ("A_NONE", "A_MISSING")]
    with_variables(pods, text, from_file("A_ONE"), from_file("A_TWO"), *optional)
    pods.await_phase("Succeeded")
    assert pods.log("p") == "A_ONE=1\nA_TWO=a\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("A_B='1'", 'environment variable key "A_A" not found in file'),
        ("A_A=1", "couldn't parse env file"),
        ("A_A='1", "couldn't parse env file"),
        ("A_A='1' 2", "couldn't parse env file"),
        ("A_A ='1'", "couldn't parse env file"),
        ("A_A", "couldn't parse env file"),
    ],
)
def test_a_container_waits_for_a_variable_that_no_file_has(
    pods_1_36: Pods, text: str, told: str
) -> None:
    pods = pods_1_36
    with_variables(pods, text, from_file("A_A"))
    pods.await_waiting("CreateContainerConfigError")
    assert told in pods.state()["waiting"]["message"]
