"""What containers find in their volumes, and how long they see what others write."""

from __future__ import annotations

from typing import Any

import pytest
from support.simulation import Pods, container
from support.waiting import eventually

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


def test_the_limits_of_a_container_are_in_its_control_group(pods: Pods) -> None:
    limits = {"cpu": "250m", "memory": "64Mi"}
    pods.create("p", container(resources={"limits": limits}))
    pods.await_ready()
    assert pods.run("cat", "/sys/fs/cgroup/cpu.max").stdout == "25000 100000\n"
    assert pods.run("cat", "/sys/fs/cgroup/memory.max").stdout == "67108864\n"


def test_a_container_that_must_not_run_as_root_does_not_start(pods: Pods) -> None:
    security = {"runAsNonRoot": True}
    pods.create("p", container(image="busybox", command=["id"], securityContext=security))
    pods.await_waiting("CreateContainerConfigError")
    pods.create("q", container(image="example.com/own", securityContext=security))
    pods.await_ready("q")
