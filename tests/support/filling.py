"""Creates many objects quickly."""

from __future__ import annotations

from urllib.parse import urlsplit

from bench.client import Address, connections, drive
from bench.objects import COUNTER, encode, numbered
from support.client import ADMIN_TOKEN
from support.process import ServerProcess

_CONNECTIONS = 16


def fill(server: ServerProcess, namespace: str, number: int) -> None:
    """Create that many small ConfigMaps."""
    parts = urlsplit(server.address)
    assert parts.hostname is not None
    assert parts.port is not None
    address = Address(parts.hostname, parts.port, ADMIN_TOKEN)
    value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"many-{COUNTER}"}}
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    with connections(address, _CONNECTIONS) as opened:
        drive(opened, numbered([address.request("POST", path, encode(value))]), count=number)
