"""Running pods and nodes, with the status that a node agent would report."""

from __future__ import annotations

from support.client import Object
from support.namespaces import Space


def run_pod(space: Space, name: str, ip: str = "127.0.0.1", node: str = "") -> Object:
    spec: Object = {
        "automountServiceAccountToken": False,
        "containers": [{"name": "c", "image": "i"}],
    }
    if node:
        spec["nodeName"] = node
    pods = space.collection("pods")
    pod = pods.create(name, spec=spec)
    pod["status"] |= {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]}
    answer = pods.client.put(pods.item(name, "status"), pod)
    assert answer.status == 200, answer.text
    running: Object = answer.body
    return running


def run_node(space: Space, port: int, address: str = "127.0.0.1") -> str:
    nodes = space.everywhere("nodes")
    name = str(nodes.create(f"node-{space.name}")["metadata"]["name"])
    status = {
        "addresses": [{"type": "InternalIP", "address": address}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    answer = nodes.client.patch(nodes.item(name, "status"), {"status": status})
    assert answer.status == 200, answer.text
    return name
