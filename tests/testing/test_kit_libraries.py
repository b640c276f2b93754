"""A small suite with each common client library, set up in one call."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.waiting import eventually

from fairlead.testing import Cluster

OPERATOR = """
import kopf


@kopf.on.create("example.org", "v1", "websites")
def website_made(name, namespace, spec, patch, **_):
    document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {"index.html": spec["text"]},
    }
    kopf.adopt(document)
    import pykube

    api = pykube.HTTPClient(pykube.KubeConfig.from_env())
    pykube.ConfigMap(api, document).create()
    api.session.close()
    patch.status["phase"] = "Published"
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: websites.example.org
spec:
  group: example.org
  scope: Namespaced
  names: {plural: websites, singular: website, kind: Website}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-preserve-unknown-fields: true
"""


def _map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


def _read(kit: Cluster, space: str, name: str) -> Any:
    return kit.admin.resource("configmaps").get(name, space)["data"]


def test_kubernetes(kit: Cluster, space: str) -> None:
    from kubernetes import client, watch

    with kit.clients.kubernetes() as api:
        core = client.CoreV1Api(api)
        core.create_namespaced_config_map(space, client.V1ConfigMap(**_as_python(_map("a", k="1"))))
        core.patch_namespaced_config_map("a", space, {"data": {"k": "2"}})
        assert _read(kit, space, "a") == {"k": "2"}
        stream = watch.Watch().stream(core.list_namespaced_config_map, space, timeout_seconds=30)
        assert next(item for item in stream if item["object"].metadata.name == "a")
        stream.close()
        with pytest.raises(client.ApiException) as refused:
            core.read_namespaced_config_map("b", space)
        assert refused.value.status == 404


def _as_python(value: dict[str, Any]) -> dict[str, Any]:
    from kubernetes import client

    return {"metadata": client.V1ObjectMeta(**value["metadata"]), "data": value["data"]}


def test_kubernetes_asyncio(kit: Cluster, space: str) -> None:
    from kubernetes_asyncio import client

    async def work() -> None:
        async with await kit.clients.kubernetes_asyncio() as api:
            core = client.CoreV1Api(api)
            body: Any = _map("a", k="1")  # the library also takes plain objects
            await core.create_namespaced_config_map(space, body)
            listed = await core.list_namespaced_config_map(space)
            assert "a" in [item.metadata.name for item in listed.items]

    asyncio.run(work())
    assert _read(kit, space, "a") == {"k": "1"}


def test_lightkube(kit: Cluster, space: str) -> None:
    from lightkube import ApiError
    from lightkube.models.meta_v1 import ObjectMeta
    from lightkube.resources.core_v1 import ConfigMap

    client = kit.clients.lightkube(field_manager="suite")
    config_map = ConfigMap(metadata=ObjectMeta(name="a", namespace=space), data={"k": "1"})
    client.apply(config_map)
    assert _read(kit, space, "a") == {"k": "1"}
    client.delete(ConfigMap, "a", namespace=space)
    with pytest.raises(ApiError):
        client.get(ConfigMap, "a", namespace=space)
    client._client._client.close()


def test_lightkube_async(kit: Cluster, space: str) -> None:
    from lightkube.resources.core_v1 import Namespace

    async def work() -> list[str | None]:
        client = kit.clients.lightkube_async()
        names = [item.metadata.name async for item in client.list(Namespace)]
        await client.close()
        return names

    assert space in asyncio.run(work())


def test_kr8s(kit: Cluster, space: str) -> None:
    from kr8s.objects import ConfigMap

    api = kit.clients.kr8s()
    config_map = ConfigMap({**_map("a", k="1"), "kind": "ConfigMap"}, namespace=space, api=api)
    config_map.create()
    config_map.patch({"data": {"k": "2"}})
    assert _read(kit, space, "a") == {"k": "2"}
    assert "a" in [configmap.name for configmap in api.get("configmaps", namespace=space)]


def test_kr8s_async(kit: Cluster, space: str) -> None:
    async def work() -> list[str]:
        api = await kit.clients.kr8s_async()
        return [namespace.name async for namespace in api.get("namespaces")]

    assert space in asyncio.run(work())


def test_pykube(kit: Cluster, space: str) -> None:
    import pykube

    api = kit.clients.pykube()
    document = {"apiVersion": "v1", "kind": "ConfigMap", **_map("a", k="1")}
    document["metadata"]["namespace"] = space
    config_map = pykube.ConfigMap(api, document)
    config_map.create()
    config_map.obj["data"]["k"] = "2"
    config_map.update()
    assert _read(kit, space, "a") == {"k": "2"}
    api.session.close()


def test_an_operator_of_kopf(kit: Cluster, space: str, tmp_path: Path) -> None:
    program = tmp_path / "operator.py"
    program.write_text(OPERATOR)
    kit.definitions(DEFINITION)
    sites = kit.admin.resource("websites")
    with kit.record() as record, kit.clients.kopf("run", "-n", space, str(program)) as runner:
        sites.create({**_kind(), "metadata": {"name": "shop"}, "spec": {"text": "Hello"}}, space)
        sites.wait("shop", _is_published, space, timeout=60)
        (owner,) = kit.admin.resource("configmaps").get("shop", space)["metadata"][
            "ownerReferences"
        ]
    assert runner.exit_code == 0
    assert owner["kind"] == "Website"
    assert record.count(verb="create", resource="configmaps") == 1


def test_what_is_printed_beside_an_operator_of_kopf_is_not_lost(
    kit: Cluster, space: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "operator.py"
    program.write_text(OPERATOR)
    kit.definitions(DEFINITION)
    with kit.clients.kopf("run", "-n", space, str(program)) as running:
        eventually(lambda: "Initial authentication" in running.output, "the operator runs")
        print("seen by those who run the tests")
    assert "seen by those who run the tests\n" in capsys.readouterr().out
    assert running.exit_code == 0


def test_an_operator_of_kopf_that_cannot_run_fails_the_test(kit: Cluster, tmp_path: Path) -> None:
    program = tmp_path / "operator.py"
    program.write_text("raise LookupError('no such thing')")
    with pytest.raises(LookupError, match="no such thing"), kit.clients.kopf("run", str(program)):
        pass


def _kind() -> dict[str, str]:
    return {"apiVersion": "example.org/v1", "kind": "Website"}


def _is_published(value: dict[str, Any] | None) -> bool:
    return ((value or {}).get("status") or {}).get("phase") == "Published"


def test_what_has_read_the_environment_before_finds_the_server_too(
    kit: Cluster, space: str
) -> None:
    from kubernetes import client, config
    from kubernetes.config.config_exception import ConfigException

    with kit.clients.environment():
        config.load_kube_config(client_configuration=(configuration := client.Configuration()))
    assert configuration.host == kit.url
    with pytest.raises(ConfigException):
        config.load_kube_config(config_file="/no/such/file")


def test_they_are_there_for_any_user(kit: Cluster, space: str) -> None:
    from kubernetes import client

    with kit.as_user("ann").clients.kubernetes() as api:
        with pytest.raises(client.ApiException) as refused:
            client.CoreV1Api(api).list_namespaced_pod(space)
        assert refused.value.status == 403
