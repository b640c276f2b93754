"""Webhooks about objects of custom kinds."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.client import Object
from support.conversion_webhook import ConversionServer
from support.definitions import Kind, version
from support.webhook import Hooked, patching


def _defined(hooks: Hooked) -> Kind:
    api_version = version("v1")
    spec = api_version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    spec["size"]["default"] = 5
    return Kind(hooks.space, api_version, version("v2", storage=False)).install()


def _rule(kind: Kind, name: str = "v1") -> Object:
    return {"apiGroups": [kind.group], "apiVersions": [name], "resources": ["widgets"]}


def test_a_custom_object_is_told_like_any_other(hooked: Hooked) -> None:
    kind = _defined(hooked)
    path = hooked.validate(**_rule(kind))
    kind.create("a", spec={"color": "red"})
    [request] = hooked.requests(path)
    assert request["kind"] == {"group": kind.group, "version": "v1", "kind": "Widget"}
    assert request["object"]["spec"] == {"color": "red", "size": 5}
    assert request["object"]["apiVersion"] == f"{kind.group}/v1"


def test_what_a_webhook_makes_of_a_custom_object_is_pruned_and_filled_in(hooked: Hooked) -> None:
    kind = _defined(hooked)
    spec = {"color": "blue", "unknown": 1}
    hooked.mutate(patching({"op": "replace", "path": "/spec", "value": spec}), **_rule(kind))
    answer = kind.create("a", spec={"size": 9})
    assert answer["spec"] == {"color": "blue", "size": 5}


def test_what_a_webhook_makes_of_a_custom_object_is_held_against_its_schema(
    hooks: Hooked,
) -> None:
    kind = _defined(hooks)
    patch = patching({"op": "add", "path": "/spec/size", "value": "large"})
    hooks.mutate(patch, **_rule(kind))
    answer = kind.client.post(kind.collection().path, kind.value("a", spec={}))
    assert answer.status == 422
    assert "size" in answer.message


def test_another_version_is_told_in_the_version_of_the_rule(hooks: Hooked, tmp_path: Path) -> None:
    converting = ConversionServer(tmp_path)
    fields = {"host": "string", "port": "integer", "address": "string"}
    versions = []
    for name, names in (("v1", ("address",)), ("v2", ("host", "port"))):
        api_version = version(name, storage=name == "v1")
        spec = {name: {"type": fields[name]} for name in names}
        api_version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = spec
        versions.append(api_version)
    kind = Kind(hooks.space, *versions, conversion=converting.conversion()).install()
    patch = patching({"op": "add", "path": "/spec/address", "value": "there:80"})
    path = hooks.mutate(patch, **_rule(kind, "v1"))
    answer = kind.create("a", "v2", spec={"host": "here", "port": 443})
    converting.close()
    [request] = hooks.requests(path)
    assert request["object"]["spec"] == {"address": "here:443"}
    assert request["resource"]["version"] == "v1"
    assert request["requestResource"]["version"] == "v2"
    assert answer["spec"] == {"host": "there", "port": 80}


def test_a_version_that_is_no_longer_served_is_not_equivalent(hooks: Hooked) -> None:
    kind = _defined(hooks)
    path = hooks.validate(**_rule(kind, "v2"))
    kind.create("a", spec={})
    assert len(hooks.requests(path)) == 1
    value = kind.definition()
    value["spec"]["versions"][1]["served"] = False
    kind.definitions.update(value)
    kind.create("b", spec={})
    assert len(hooks.requests(path)) == 1


@pytest.mark.parametrize("sub", ["status", "scale"])
def test_subresources_of_custom_objects_are_asked_about(hooks: Hooked, sub: str) -> None:
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    api_version = version("v1", subresources={"status": {}, "scale": paths})
    kind = Kind(hooks.space, api_version).install()
    path = hooks.validate(**{**_rule(kind), "resources": [f"*/{sub}"]})
    kind.create("a", spec={"replicas": 1})
    item = kind.collection("v1").item("a", sub)
    change = {"spec": {"replicas": 2}} if sub == "scale" else {"status": {"phase": "x"}}
    assert hooks.space.client.patch(item, change).status == 200
    [request] = hooks.requests(path)
    assert request["subResource"] == sub
    assert request["kind"]["kind"] == ("Scale" if sub == "scale" else "Widget")
