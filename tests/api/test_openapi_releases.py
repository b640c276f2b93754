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
from fairlead.codec.gnostic import encode_document
from fairlead.codec.protobuf_wire import fields

REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference" / "1.36" / "types.json"
CORE = "io.k8s.api.core.v1."
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def definition(name: str) -> dict[str, Any]:
    found: dict[str, Any] = swagger(release=V1_36)["definitions"][name]
    return found


def parameters(path: str, method: str = "") -> set[str]:
    document = swagger(release=V1_36)
    item = document["paths"][path]
    listed = item[method]["parameters"] if method else item["parameters"]
    return {meant(document, parameter)["name"] for parameter in listed}


def meant(document: dict[str, Any], parameter: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in parameter:
        return parameter
    found: dict[str, Any] = document["parameters"][parameter["$ref"].removeprefix("#/parameters/")]
    return found


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


def test_operations_share_their_parameters_but_those_that_clients_look_for() -> None:
    document = swagger(release=V1_36)
    pods = document["paths"]["/api/v1/namespaces/{namespace}/pods"]
    assert all("$ref" in parameter for parameter in pods["get"]["parameters"])
    own = [one["name"] for one in pods["post"]["parameters"] if "$ref" not in one]
    assert own == ["body", "dryRun", "fieldValidation"]
    shared = [meant(document, parameter) for parameter in pods["parameters"]]
    assert shared == [
        {
            "in": "path",
            "name": "namespace",
            "required": True,
            "type": "string",
            "uniqueItems": True,
        },
        {"in": "query", "name": "pretty", "type": "string", "uniqueItems": True},
    ]


def test_parameters_of_all_operations_are_those_of_the_path() -> None:
    bindings = "/api/v1/namespaces/{namespace}/bindings"
    assert parameters(bindings, "post") == {"body"}
    assert {"dryRun", "fieldManager", "namespace", "pretty"} <= parameters(bindings)


def test_protobuf_has_shared_parameters() -> None:
    document = swagger(release=V1_36)
    raw = encode_document(document)
    [shared] = [value for number, _, value in fields(raw) if number == 10]
    assert isinstance(shared, bytes)
    assert len(list(fields(shared))) == len(document["parameters"]) > 20


def test_elements_have_enums_and_types_their_unions() -> None:
    operations = definition("io.k8s.api.admissionregistration.v1.RuleWithOperations")["properties"]
    assert operations["operations"]["items"]["enum"][:2] == ["*", "CONNECT"]
    assert "enum" not in operations["operations"]
    usages = definition("io.k8s.api.certificates.v1.CertificateSigningRequestSpec")["properties"]
    assert "client auth" in usages["usages"]["items"]["enum"]
    [union] = definition(f"{CORE}SeccompProfile")["x-kubernetes-unions"]
    assert union["discriminator"] == "type"


def test_version_3_has_zeros_of_fields_that_are_always_there(server_1_36: ServerProcess) -> None:
    document = server_1_36.client().get("/openapi/v3/api/v1").body
    schemas = document["components"]["schemas"]
    pod = schemas[f"{CORE}Pod"]["properties"]
    assert pod["spec"]["default"] == {}
    assert "default" not in schemas[f"{CORE}Probe"]["properties"]["timeoutSeconds"]
    assert schemas[f"{CORE}ContainerPort"]["properties"]["protocol"]["default"] == "TCP"
    containers = schemas[f"{CORE}PodSpec"]["properties"]["containers"]["items"]
    assert (containers["default"], len(containers["allOf"])) == ({}, 1)
    kinds = schemas["io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent"]
    assert len(kinds["x-kubernetes-group-version-kind"]) == 1
    assert document["info"]["version"] == "1.36"


def test_the_issuer_of_tokens_is_described(server_1_36: ServerProcess) -> None:
    client = server_1_36.client()
    paths = client.get("/openapi/v3").body["paths"]
    for name, media_type in (
        (".well-known/openid-configuration", "application/json"),
        ("openid/v1/jwks", "application/jwk-set+json"),
    ):
        document = client.get(paths[name]["serverRelativeURL"]).body
        answer = document["paths"][f"/{name}/"]["get"]["responses"]["200"]
        assert list(answer["content"]) == [media_type]
