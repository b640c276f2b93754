"""The API's own service has the address of the server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.client import Client, Object
from support.process import FreshServer, ServerProcess
from support.waiting import eventually

ADDRESS = "10.11.12.13"
SERVICE = "/api/v1/namespaces/default/services/kubernetes"
ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"


@pytest.fixture(scope="module")
def advertised(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    flags = ("--advertise-address", ADDRESS)
    running = ServerProcess(tmp_path_factory.mktemp("own"), "kubernetes", flags)
    # The banner shows what is advertised, where nobody listens.
    yield running.start()
    running.stop()


@pytest.fixture
def client(advertised: ServerProcess) -> Iterator[Client]:
    port = advertised.address.rpartition(":")[2]
    connected = Client(f"https://127.0.0.1:{port}", advertised.ca)
    yield connected
    connected.close()


def port_of(server: ServerProcess) -> int:
    return int(server.address.rpartition(":")[2])


def subsets(server: ServerProcess) -> list[Object]:
    ports = [{"name": "https", "port": port_of(server), "protocol": "TCP"}]
    return [{"addresses": [{"ip": ADDRESS}], "ports": ports}]


def test_endpoints_and_slice_have_the_advertised_address(
    advertised: ServerProcess, client: Client
) -> None:
    endpoints = client.get(ENDPOINTS).body
    assert endpoints["subsets"] == subsets(advertised)
    assert endpoints["metadata"]["labels"] == {"endpointslice.kubernetes.io/skip-mirror": "true"}
    document = client.get(SLICE).body
    assert document["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}
    assert document["addressType"] == "IPv4"
    assert document["endpoints"] == [{"addresses": [ADDRESS], "conditions": {"ready": True}}]
    assert document["ports"] == subsets(advertised)[0]["ports"]


@pytest.mark.parametrize("path", [SERVICE, ENDPOINTS, SLICE])
def test_own_service_that_is_deleted_comes_back(client: Client, path: str) -> None:
    uid = client.get(path).body["metadata"]["uid"]
    assert client.delete(path).status == 200

    def is_back() -> bool:
        answer = client.get(path)
        return answer.status == 200 and answer.body["metadata"]["uid"] != uid

    eventually(is_back, "it comes back")
    eventually(lambda: client.get(ENDPOINTS).status == 200, "Endpoints are there")


@pytest.mark.parametrize(
    ("path", "edit"),
    [
        (SERVICE, {"spec": {"ports": [{"port": 443, "targetPort": 1}]}}),
        (ENDPOINTS, {"subsets": []}),
        (ENDPOINTS, {"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": None}}}),
        (SLICE, {"endpoints": [{"addresses": ["10.1.1.1"]}]}),
    ],
)
def test_own_service_that_is_edited_is_put_back(client: Client, path: str, edit: Object) -> None:
    def content() -> Object:
        body = client.get(path).body
        manifest: Object = {**body, "metadata": body["metadata"].get("labels")}
        return manifest

    before = content()
    answer = client.patch(path, edit)
    assert answer.status == 200, answer.text
    eventually(lambda: content() == before, "it is as it was")


def test_own_endpoints_need_no_controllers_and_follow_a_restart(fresh_server: FreshServer) -> None:
    server = fresh_server("--controllers=-*", dialect="cluster")
    client = server.client()
    path = "/api/v1/namespaces/default/endpoints/cluster"
    client.delete(path)
    eventually(lambda: client.get(path).status == 200, "Endpoints come back")
    server.stop()
    server.start()
    client, port = server.client(), port_of(server)
    service = client.get("/api/v1/namespaces/default/services/cluster").body
    assert service["spec"]["ports"][0]["targetPort"] == port
    assert client.get(path).body["subsets"][0]["ports"][0]["port"] == port
    slices = client.get("/apis/discovery.cluster.io/v1/namespaces/default/endpointslices")
    assert [item["ports"][0]["port"] for item in slices.body["items"]] == [port]
