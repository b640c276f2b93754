"""Common client libraries on custom resources."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.definitions import Kind, version
from support.namespaces import Space
from support.process import ServerProcess
from support.waiting import eventually

# What the clients themselves do in ways that their libraries warn of.
pytestmark = pytest.mark.filterwarnings("ignore")

OPERATOR = """
import kopf

@kopf.on.startup()
def configure(settings, **_):
    settings.posting.enabled = False

@kopf.on.create("{group}", "v1", "widgets")
def made(spec, patch, **_):
    patch.status["phase"] = f"made {{spec['size']}}"

@kopf.on.update("{group}", "v1", "widgets")
def changed(spec, patch, **_):
    patch.status["phase"] = f"changed to {{spec['size']}}"

@kopf.on.delete("{group}", "v1", "widgets")
def gone(**_):
    pass
"""


@pytest.fixture
def kind(kubernetes: Space) -> Kind:
    api_version = version(subresources={"status": {}})
    api_version["schema"]["openAPIV3Schema"]["properties"]["status"] = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    return Kind(kubernetes, api_version).install()


@pytest.fixture
def config(server: ServerProcess) -> Path:
    return server.data / "admin.kubeconfig"


def test_the_dynamic_client_of_kubernetes(kind: Kind, config: Path) -> None:
    kubernetes = pytest.importorskip("kubernetes")
    dynamic = pytest.importorskip("kubernetes.dynamic")
    api = kubernetes.config.new_client_from_config(str(config))
    client = dynamic.DynamicClient(api)
    widgets = client.resources.get(api_version=f"{kind.group}/v1", kind="Widget")
    namespace = kind.space.name
    widget = widgets.create(body=kind.value("a", spec={"size": 1}), namespace=namespace)
    assert widget.metadata.generation == 1
    patch = {"spec": {"size": 2}}
    media_type = "application/merge-patch+json"
    widgets.patch(name="a", namespace=namespace, body=patch, content_type=media_type)
    assert [item.spec.size for item in widgets.get(namespace=namespace).items] == [2]
    applied = kind.value("b", spec={"size": 7})
    widgets.server_side_apply(body=applied, namespace=namespace, field_manager="tests")
    assert widgets.get(name="b", namespace=namespace).spec.size == 7
    watched = widgets.watch(namespace=namespace, resource_version=0, timeout=2)
    assert {event["object"].metadata.name for event in watched} == {"a", "b"}
    widgets.status.patch(
        name="a", namespace=namespace, body={"status": {"phase": "x"}}, content_type=media_type
    )
    assert widgets.get(name="a", namespace=namespace).status.phase == "x"
    widgets.delete(name="a", namespace=namespace)
    assert kind.collection().names() == ["b"]
    api.close()


def test_lightkube(kind: Kind, config: Path) -> None:
    lightkube = pytest.importorskip("lightkube")
    generic = pytest.importorskip("lightkube.generic_resource")
    widget = generic.create_namespaced_resource(kind.group, "v1", "Widget", "widgets")
    loaded = lightkube.KubeConfig.from_file(str(config))
    client = lightkube.Client(config=loaded, namespace=kind.space.name, field_manager="tests")
    client.create(widget(metadata={"name": "a"}, spec={"size": 1}))
    result = client.get(widget, "a")
    assert result.spec == {"size": 1}
    result.spec["size"] = 2
    client.replace(result)
    assert [item.spec["size"] for item in client.list(widget)] == [2]
    value = widget(
        apiVersion=f"{kind.group}/v1", kind="Widget", metadata={"name": "b"}, spec={"size": 5}
    )
    client.apply(value)
    assert client.get(widget, "b").spec == {"size": 5}
    client.delete(widget, "a")
    assert kind.collection().names() == ["b"]


@pytest.fixture
def operator(kind: Kind, config: Path, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    pytest.importorskip("kopf")
    program = tmp_path / "operator.py"
    program.write_text(OPERATOR.format(group=kind.group))
    command = ("-m", "kopf", "run", "--standalone", "-n", kind.space.name, str(program))
    with (tmp_path / "log").open("wb") as log:
        running = subprocess.Popen(
            (sys.executable, *command),
            env={**os.environ, "KUBECONFIG": str(config)},
            stdout=log,
            stderr=log,
        )
    yield running
    running.terminate()
    running.wait(20)


def test_an_operator_of_kopf(kind: Kind, operator: subprocess.Popen[bytes]) -> None:
    kind.create("a", spec={"size": 3})

    def phase() -> Any:
        return (kind.collection().read("a").get("status") or {}).get("phase")

    eventually(lambda: phase() == "made 3", "the operator saw the new object", 60)
    assert kind.collection().read("a")["metadata"]["finalizers"]
    kind.collection().patch("a", {"spec": {"size": 4}})
    eventually(lambda: phase() == "changed to 4", "the operator saw the change", 60)
    kind.collection().delete("a")
    eventually(lambda: kind.collection().get("a").status == 404, "the operator let it go", 60)
