"""The definition of Behaviour, which servers with simulated nodes install."""

from __future__ import annotations

import pytest
from support.client import Object
from support.namespaces import Collection, Space
from support.process import FreshServer
from support.simulation import GROUP, Pods
from support.waiting import eventually

NAME = f"behaviours.{GROUP}"
DIGEST = "simulation.fairlead/definition"


def definitions(space: Space) -> Collection:
    return space.everywhere("customresourcedefinitions", "apiextensions.k8s.io")


def test_behaviours_are_served(any_pods: Pods) -> None:
    spec = {"ports": [{"port": 80, "text": "hello"}], "usage": {"cpu": 1}}
    assert any_pods.script(**spec).status == 201
    assert any_pods.behaviours.read("b")["spec"] == spec


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"ports": [{"port": 1, "text": "", "echo": {}}]}, "must validate one and only one"),
        ({"ports": [{"port": 1}]}, "must validate one and only one"),
        ({"ports": [{"port": 65536, "echo": {}}]}, "spec.ports[0].port"),
        ({"ports": [{"port": 1, "echo": {}}, {"port": 1, "echo": {}}]}, "spec.ports[1]"),
        ({"ports": [{"port": 1, "http": [{"headers": {"a": "x\r\ny"}}]}]}, "headers.a"),
        ({"commands": [{"command": []}]}, "spec.commands[0].command"),
        ({"commands": [{"command": ["x"], "exitCode": 256}]}, "spec.commands[0].exitCode"),
        ({"commands": [{"command": ["x"], "delay": "-1s"}]}, "spec.commands[0].delay"),
        ({"commands": [{"command": ["x"], "stdout": "x" * 65537}]}, "spec.commands[0].stdout"),
        ({"selector": {"images": ["*"] * 65}}, "spec.selector.images"),
        ({"selector": {"pods": ["*a*a*a*a*a*a*a*a*b"]}}, "spec.selector.pods[0]"),
        ({"usage": {"cpu": "much"}}, "spec.usage.cpu"),
    ],
)
def test_a_wrong_behaviour_is_refused(pods: Pods, spec: Object, field: str) -> None:
    answer = pods.script(**spec)
    assert answer.status == 422
    assert field in answer.message


def test_the_definition_of_an_older_server_is_replaced(fresh_server: FreshServer) -> None:
    server = fresh_server("--simulate-nodes=1")
    installed = definitions(Space(server, server.client()))
    behaviours = Space(server, server.client()).collection("behaviours", GROUP)
    eventually(lambda: behaviours.list().status == 200, "it is established")
    older = installed.read(NAME)
    columns = older["spec"]["versions"][0].pop("additionalPrinterColumns")
    older["metadata"]["annotations"][DIGEST] = "older"
    installed.update(older)
    server.kill()
    server.start()
    installed = definitions(Space(server, server.client()))

    def is_new() -> bool:
        (version,) = installed.read(NAME)["spec"]["versions"]
        return bool(version.get("additionalPrinterColumns") == columns)

    eventually(is_new, "it has its columns")


def test_objects_of_a_foreign_definition_do_not_count(fresh_server: FreshServer) -> None:
    server = fresh_server("--simulate-nodes=1")
    pods = Pods(Space(server, server.client()))
    assert pods.script().status == 201
    foreign = definitions(pods.space).read(NAME)
    del foreign["metadata"]["annotations"][DIGEST]
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    foreign["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": anything}
    definitions(pods.space).update(foreign)
    wrong = {"apiVersion": f"{GROUP}/v1", "kind": "Behaviour", "metadata": {"name": "c"}}
    answer = pods.space.client.post(pods.behaviours.path, {**wrong, "spec": "text"})
    assert answer.status == 201
    pods.create()
    pods.await_ready()
    assert pods.run("true").code == 0
