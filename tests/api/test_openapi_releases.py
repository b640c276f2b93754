"""OpenAPI documents of release 1.36, and what the reference publishes of each field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.openapi import swagger
from support.process import ServerProcess

from fairlead.api.openapi.names import Names
from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import V1_36

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference" / "1.36" / "types.json"
CORE = "io.k8s.api.core.v1."
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def definition(name: str) -> dict[str, Any]:
    found: dict[str, Any] = swagger(release=V1_36)["definitions"][name]
    return found


def parameters(path: str, method: str = "") -> set[str]:
    item = swagger(release=V1_36)["paths"][path]
    listed = item[method]["parameters"] if method else item["parameters"]
    return {parameter["name"] for parameter in listed}


def test_every_list_has_its_type_but_those_of_items() -> None:
    container = definition(f"{CORE}Container")["properties"]
    assert container["args"]["x-kubernetes-list-type"] == "atomic"
    assert container["env"]["x-kubernetes-list-type"] == "map"
    assert "x-kubernetes-list-type" not in definition(f"{CORE}PodList")["properties"]["items"]


def test_the_new_parameters_are_described() -> None:
    pods = "/api/v1/namespaces/{namespace}/pods"
    shards = {"sendInitialEvents", "shardSelector"}
    assert shards <= parameters(pods, "get")
    unsafe = "ignoreStoreReadErrorWithClusterBreakingPotential"
    assert {*shards, unsafe} <= parameters(pods, "delete")
    assert unsafe in parameters(f"{pods}/{{name}}", "delete")
    assert "stream" in parameters(f"{pods}/{{name}}/log")


def test_the_version_document_names_the_emulated_release() -> None:
    info = definition("io.k8s.apimachinery.pkg.version.Info")
    assert {"emulationMajor", "minCompatibilityMinor"} <= set(info["properties"])


def test_documents_are_sent_under_their_media_type(server_1_36: ServerProcess) -> None:
    client = server_1_36.client()
    path = "/openapi/v3/apis/scheduling.k8s.io/v1"
    assert client.get(path).headers["Content-Type"] == "application/json"
    for at_or_dot in ("v3@v1.0", "v3.v1.0"):
        accept = f"application/com.github.proto-openapi.spec.{at_or_dot}+protobuf"
        answer = client.get(path, headers={"Accept": accept})
        assert answer.headers["Content-Type"] == accept.replace("@", ".")
    client.close()


def _fields() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The definition, the name and the facts of every field in the reference."""
    names = Names(KUBERNETES)
    for type_name, facts in json.loads(REFERENCE.read_text()).items():
        group_version, dot, kind = type_name.rpartition(".")
        if dot and group_version != "apidiscovery/v2":
            for field, described in facts.get("fields", {}).items():
                if field == "caBundle":  # the reference says that these bytes are a list
                    described.pop("listType", None)
                yield names.schema(group_version, kind), field, described


def _published(schema: dict[str, Any], field: str) -> dict[str, Any]:
    described = schema["properties"][field]
    return {
        "required": field in schema.get("required", ()),
        "listType": described.get("x-kubernetes-list-type", ""),
        "listMapKeys": described.get("x-kubernetes-list-map-keys", []),
        "mapType": described.get("x-kubernetes-map-type", ""),
        "patchMergeKey": described.get("x-kubernetes-patch-merge-key", ""),
        "patchStrategy": described.get("x-kubernetes-patch-strategy", ""),
        "enum": sorted(described.get("enum", [])),
    }


def test_every_field_is_described_as_the_reference_does() -> None:
    if not REFERENCE.exists():
        pytest.skip(f"{REFERENCE} is not there: the documents are not compared")
    definitions, different = swagger(release=V1_36)["definitions"], []
    for name, field, facts in _fields():
        if name not in definitions:
            continue
        found = _published(definitions[name], field)
        for fact, value in found.items():
            expected = facts.get(fact, type(value)())
            if (sorted(expected) if fact == "enum" else expected) != value:
                different.append((name, field, fact, value, expected))
    assert different == []
