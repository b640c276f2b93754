"""Objects that point a proxy at the server's own machine."""

from __future__ import annotations

import json

import pytest
from support.namespaces import Space
from support.neighbour import Neighbour

ADDRESSES = [
    *("127.0.0.1", "localhost", "127.1", "0x7f000001", "2130706433", "::1", "::ffff:127.0.0.1"),
    *("0.0.0.0", "::", "169.254.169.254", "::ffff:a9fe:a9fe", "fe80::1", "224.0.0.1"),
]


@pytest.mark.parametrize("kind", ["InternalIP", "Hostname"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_node_cannot_point_at_this_machine(space: Space, address: str, kind: str) -> None:
    inside = Neighbour()
    nodes = space.everywhere("nodes")
    try:
        name = nodes.create(f"n-{space.name}")["metadata"]["name"]
        status = {
            "addresses": [{"type": kind, "address": address}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": inside.port}},
        }
        response = nodes.client.patch(nodes.item(name, "status"), {"status": status})
        assert response.status == 200
        for form in (name, f"{name}:{inside.port}", f"http:{name}:{inside.port}"):
            answer = nodes.client.get(f"{nodes.item(form, 'proxy')}/x")
            assert (answer.status, answer.message) == (400, "address not allowed")
        assert inside.requests == []
    finally:
        nodes.delete(f"n-{space.name}")
        inside.close()


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254"])
@pytest.mark.parametrize("what", ["proxy/x", "log", "exec?command=ls", "portforward"])
def test_a_pod_cannot_point_at_this_machine(space: Space, address: str, what: str) -> None:
    space.ready_for_pods()
    nodes, pods = space.everywhere("nodes"), space.collection("pods")
    nodes.create(f"n-{space.name}")
    status = {"addresses": [{"type": "InternalIP", "address": address}]}
    response = nodes.client.patch(nodes.item(f"n-{space.name}", "status"), {"status": status})
    assert response.status == 200
    spec = {
        "automountServiceAccountToken": False,
        "nodeName": f"n-{space.name}",
        "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}],
    }
    pod = pods.create("p", spec=spec)
    pod["status"] |= {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
    assert pods.client.put(pods.item("p", "status"), pod).status == 200
    streams = {} if what.startswith("proxy") else {"Upgrade": "SPDY/3.1"}
    answer = pods.client.get(pods.item("p", what), headers=streams)
    assert (answer.status, json.loads(answer.raw)["message"]) == (400, "address not allowed")
    nodes.delete(f"n-{space.name}")
