"""Client that exist in a fresh server, beside the roles and bindings of authorization."""

from __future__ import annotations

import asyncio

from fairlead.dialect import Dialect
from fairlead.errors import StatusError
from fairlead.operations.api import Object
from fairlead.operations.client import Client

NAMESPACES = "core/v1/namespaces"

_PRIORITY_CLASSES = (
    ("system-cluster-critical", 2_000_000_000, "For pods the cluster cannot do without."),
    ("system-node-critical", 2_000_001_000, "For pods a node cannot do without."),
)


def first_objects(dialect: Dialect, address: str, port: int) -> list[tuple[str, Object]]:
    """What is created when it is missing, by resource; what exists is left as it is."""
    namespaces = (
        "default",
        dialect.system_namespace,
        dialect.public_namespace,
        dialect.node_lease_namespace,
    )
    found: list[tuple[str, Object]] = [
        (NAMESPACES, {"metadata": {"name": name}}) for name in namespaces
    ]
    for name, value, description in _PRIORITY_CLASSES:
        made = {"metadata": {"name": name}, "value": value, "description": description}
        found.append(("scheduling/v1/priorityclasses", made))
    found.append(("core/v1/services", own_service(dialect, address, port)))
    return found


def own_service(dialect: Dialect, address: str, port: int) -> Object:
    """How pods find this server: by the first address of the services' range."""
    name = dialect.own_service
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": name},
        },
        "spec": {
            "clusterIP": address,
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
        },
    }


async def create_first_objects(dialect: Dialect, objects: Client, address: str, port: int) -> None:
    """Namespaces first: the rest lies in them."""
    wanted = [item for item in first_objects(dialect, address, port) if objects.serves(item[0])]
    missing = [item for item in wanted if _is_missing(objects, *item)]
    for in_namespaces in (False, True):
        batch = [item for item in missing if (item[0] != NAMESPACES) is in_namespaces]
        await asyncio.gather(*(_create(objects, key, value) for key, value in batch))


async def _create(objects: Client, key: str, value: Object) -> None:
    """Another server may be at the same work."""
    try:
        await objects.create(key, value)
    except StatusError:
        if _is_missing(objects, key, value):
            raise


def _is_missing(objects: Client, key: str, value: Object) -> bool:
    metadata = value["metadata"]
    return objects.find(key, metadata.get("namespace", ""), metadata["name"]) is None
