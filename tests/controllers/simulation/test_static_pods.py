"""Static pods of simulated nodes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.client import Object
from support.namespaces import Space
from support.process import MOVABLE_CLOCK, FreshServer, ServerProcess
from support.simulation import Pods, await_nodes
from support.waiting import eventually

PROXY = """
apiVersion: v1
kind: Pod
metadata: {name: proxy, namespace: NAMESPACE, labels: {app: proxy}}
spec:
  containers: [{name: c, image: "proxy:1"}]
"""


@pytest.mark.parametrize("dialect", ["kubernetes", "cluster"])
def test_every_node_runs_the_pods_of_a_directory(
    tmp_path: Path, fresh_server: FreshServer, dialect: str
) -> None:
    files = tmp_path / "manifests"
    files.mkdir()
    (files / "broken.yaml").write_text("kind: Service")
    (files / ".hidden").write_text("{")
    flags = ("--simulate-nodes=2", "--simulate-static-pods", str(files))
    server = fresh_server(*flags, dialect=dialect, prelude=MOVABLE_CLOCK)
    await_nodes(server, 2)
    pods = Pods(Space(server, server.client()))
    manifest = PROXY.replace("NAMESPACE", pods.space.name)
    (files / "proxy.yaml").write_text(manifest)
    one = {"name": "one", "namespace": pods.space.name}
    spec = {"nodeName": "simulated-1", "containers": [{"name": "c", "image": "one:1"}]}
    (files / "one.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": one, "spec": spec})
    )
    server.advance(5)
    names = ["one-simulated-1", "proxy-simulated-0", "proxy-simulated-1"]
    eventually(lambda: pods.collection.names() == names, "the pods are there")
    pods.await_ready(*names)
    assert 'broken.yaml" err="it is not a v1 Pod' in server.log.read_text()
    assert ".hidden" not in server.log.read_text()

    mirror = pods.read("proxy-simulated-0")
    check_mirror(mirror, pods)
    pods.collection.remove("proxy-simulated-0")
    await_another(pods, mirror)

    mirror = pods.read("proxy-simulated-0")
    (files / "proxy.yaml").write_text(manifest.replace("proxy:1", "proxy:2"))
    (files / "one.json").unlink()
    server.advance(5)
    pods.await_gone("one-simulated-1")
    await_another(pods, mirror)
    assert pods.read("proxy-simulated-0")["spec"]["containers"][0]["image"] == "proxy:2"


def check_mirror(mirror: Object, pods: Pods) -> None:
    label, metadata = pods.space.dialect.label, mirror["metadata"]
    annotations = metadata["annotations"]
    assert annotations[label("@/config.source")] == "file"
    assert annotations[label("@/config.mirror")] == annotations[label("@/config.hash")]
    assert label("@/config.seen") in annotations
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Node", "simulated-0", True)
    assert {"operator": "Exists", "effect": "NoExecute"} in mirror["spec"]["tolerations"]
    assert "serviceAccountName" not in mirror["spec"]


def await_another(pods: Pods, before: Object) -> None:
    name, uid = before["metadata"]["name"], before["metadata"]["uid"]

    def is_another() -> bool:
        answer = pods.collection.get(name)
        return answer.status == 200 and bool(answer.body["metadata"]["uid"] != uid)

    eventually(is_another, f"{name} is another pod")
    pods.await_ready(name)


def test_a_pod_that_the_server_refuses_is_logged_by_the_name_of_its_file(
    tmp_path: Path, fresh_server: FreshServer
) -> None:
    files = tmp_path / "manifests"
    files.mkdir()
    (files / "wrong.yaml").write_text(PROXY.replace("proxy:1", "").replace("NAMESPACE", "default"))
    server = fresh_server("--simulate-nodes=2", "--simulate-static-pods", str(files))

    def logged(server: ServerProcess) -> str:
        return server.log.read_text()

    eventually(lambda: 'file="wrong.yaml" node="simulated-' in logged(server), "it is logged")
    assert "Required value" in logged(server)
