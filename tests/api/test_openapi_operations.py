"""Paths and operations."""

from __future__ import annotations

from typing import Any

import pytest
from support.openapi import swagger, version

CONFIG_MAPS = "/api/v1/namespaces/{namespace}/configmaps"
OF_KIND = "x-kubernetes-group-version-kind"


def names(parameters: list[dict[str, Any]]) -> list[str]:
    return [parameter["name"] for parameter in parameters]


@pytest.mark.parametrize(
    ("path", "method", "name", "action"),
    [
        ("/api/v1/configmaps", "get", "listCoreV1ConfigMapForAllNamespaces", "list"),
        (CONFIG_MAPS, "get", "listCoreV1NamespacedConfigMap", "list"),
        (CONFIG_MAPS, "post", "createCoreV1NamespacedConfigMap", "post"),
        (
            CONFIG_MAPS,
            "delete",
            "deleteCoreV1CollectionNamespacedConfigMap",
            "deletecollection",
        ),
        (f"{CONFIG_MAPS}/{{name}}", "get", "readCoreV1NamespacedConfigMap", "get"),
        (f"{CONFIG_MAPS}/{{name}}", "put", "replaceCoreV1NamespacedConfigMap", "put"),
        (f"{CONFIG_MAPS}/{{name}}", "patch", "patchCoreV1NamespacedConfigMap", "patch"),
        (f"{CONFIG_MAPS}/{{name}}", "delete", "deleteCoreV1NamespacedConfigMap", "delete"),
        ("/api/v1/nodes", "get", "listCoreV1Node", "list"),
        ("/api/v1/namespaces/{name}/finalize", "put", "replaceCoreV1NamespaceFinalize", "put"),
        (
            "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale",
            "get",
            "readAppsV1NamespacedDeploymentScale",
            "get",
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}",
            "get",
            "readRbacAuthorizationV1ClusterRole",
            "get",
        ),
        (
            "/apis/flowcontrol.apiserver.k8s.io/v1beta2/flowschemas/{name}/status",
            "patch",
            "patchFlowcontrolApiserverV1beta2FlowSchemaStatus",
            "patch",
        ),
        (
            "/api/v1/namespaces/{namespace}/pods/{name}/exec",
            "post",
            "connectCoreV1PostNamespacedPodExec",
            "connect",
        ),
        (
            "/api/v1/namespaces/{namespace}/services/{name}/proxy/{path}",
            "put",
            "connectCoreV1PutNamespacedServiceProxyWithPath",
            "connect",
        ),
        ("/api/v1/watch/nodes", "get", "watchCoreV1NodeList", "watchlist"),
        (
            "/api/v1/watch/namespaces/{namespace}/pods/{name}",
            "get",
            "watchCoreV1NamespacedPod",
            "watch",
        ),
        (
            "/api/v1/watch/configmaps",
            "get",
            "watchCoreV1ConfigMapListForAllNamespaces",
            "watchlist",
        ),
    ],
)
def test_operations_are_named_by_what_they_do(
    path: str, method: str, name: str, action: str
) -> None:
    result = swagger()["paths"][path][method]
    assert (result["operationId"], result["x-kubernetes-action"]) == (name, action)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/api/", "getCoreAPIVersions"),
        ("/api/v1/", "getCoreV1APIResources"),
        ("/apis/", "getAPIVersions"),
        ("/apis/apps/", "getAppsAPIGroup"),
        ("/apis/apps/v1/", "getAppsV1APIResources"),
        ("/version/", "getCodeVersion"),
    ],
)
def test_what_is_served_can_be_asked_for(path: str, name: str) -> None:
    assert swagger()["paths"][path]["get"]["operationId"] == name


def test_no_two_operations_share_a_name() -> None:
    paths = swagger()["paths"].values()
    operation_ids = [
        item["operationId"] for path in paths for key, item in path.items() if key != "parameters"
    ]
    assert len(operation_ids) == len(set(operation_ids))


def test_only_served_verbs_are_described() -> None:
    assert set(swagger()["paths"]["/api/v1/componentstatuses"]) == {"get", "parameters"}
    assert "delete" not in swagger()["paths"]["/api/v1/namespaces"]
    assert "/api/v1/watch/componentstatuses" not in swagger()["paths"]


def test_a_patch_takes_the_options_of_a_write() -> None:
    """Clients look here to learn whether the server checks fields and can do dry runs."""
    patch = version("", "v1")["paths"][f"{CONFIG_MAPS}/{{name}}"]["patch"]
    assert names(patch["parameters"]) == ["dryRun", "fieldManager", "fieldValidation", "force"]
    assert patch[OF_KIND] == {"group": "", "kind": "ConfigMap", "version": "v1"}


def test_a_body_is_the_first_parameter_in_the_old_version() -> None:
    post = swagger()["paths"][CONFIG_MAPS]["post"]
    reference = {"$ref": "#/definitions/io.k8s.api.core.v1.ConfigMap"}
    body = {"in": "body", "name": "body", "required": True, "schema": reference}
    assert post["parameters"][0] == body
    assert list(post["responses"]) == ["200", "201", "202", "401"]


def test_a_body_has_a_place_of_its_own_in_the_new_version() -> None:
    path = version("", "v1")["paths"][CONFIG_MAPS]
    reference = {"$ref": "#/components/schemas/io.k8s.api.core.v1.ConfigMap"}
    content = {"*/*": {"schema": reference}}
    assert path["post"]["requestBody"] == {"content": content, "required": True}
    assert "required" not in path["delete"]["requestBody"]


def test_patches_are_told_by_their_media_types() -> None:
    kinds = [
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    ]
    path = f"{CONFIG_MAPS}/{{name}}"
    assert swagger()["paths"][path]["patch"]["consumes"] == kinds
    assert list(version("", "v1")["paths"][path]["patch"]["requestBody"]["content"]) == kinds


def test_parameters_in_the_path_are_shared_by_its_operations() -> None:
    shared = swagger()["paths"][f"{CONFIG_MAPS}/{{name}}"]["parameters"]
    assert names(shared) == ["name", "namespace", "pretty"]
    placed = {"in": "path", "name": "name", "required": True, "schema": {"type": "string"}}
    assert version("", "v1")["paths"]["/api/v1/nodes/{name}"]["parameters"][0] == placed


def test_a_delete_answers_with_the_object_where_it_does() -> None:
    def answer(path: str) -> str:
        text: str = swagger()["paths"][path]["delete"]["responses"]["200"]["schema"]["$ref"]
        return text.rpartition(".")[2]

    assert answer("/api/v1/namespaces/{namespace}/pods/{name}") == "Pod"
    assert answer(f"{CONFIG_MAPS}/{{name}}") == "Status"


def test_a_subresource_speaks_of_its_own_kind() -> None:
    paths = swagger()["paths"]
    scale = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]["put"]
    assert scale[OF_KIND] == {"group": "autoscaling", "kind": "Scale", "version": "v1"}
    assert scale["parameters"][0]["schema"]["$ref"].endswith("autoscaling.v1.Scale")
    eviction = paths["/api/v1/namespaces/{namespace}/pods/{name}/eviction"]["post"]
    assert eviction[OF_KIND] == {"group": "policy", "kind": "Eviction", "version": "v1"}


def test_logs_are_text() -> None:
    log = swagger()["paths"]["/api/v1/namespaces/{namespace}/pods/{name}/log"]
    assert log["get"]["responses"]["200"]["schema"] == {"type": "string"}
    assert {"tailLines", "follow", "pretty"} < set(names(log["parameters"]))


def test_lists_can_be_streams() -> None:
    produces = swagger("cluster")["paths"]["/api/v1/nodes"]["get"]["produces"]
    assert "application/vnd.cluster.protobuf;stream=watch" in produces
