"""Objects that exist in a fresh server."""

from __future__ import annotations

import asyncio

from fairlead.dialect import Dialect
from fairlead.endpoints.api import Object
from fairlead.endpoints.objects import Objects


def first_objects(dialect: Dialect) -> list[tuple[str, Object]]:
    """What is created when it is missing, by resource; what exists is left as it is."""
    namespaces = (
        "default",
        dialect.system_namespace,
        dialect.public_namespace,
        dialect.node_lease_namespace,
    )
    return [("core/v1/namespaces", {"metadata": {"name": name}}) for name in namespaces]


async def create_first_objects(dialect: Dialect, objects: Objects) -> None:
    missing = [
        (key, value)
        for key, value in first_objects(dialect)
        if objects.serves(key)
        and objects.find(key, value["metadata"].get("namespace", ""), value["metadata"]["name"])
        is None
    ]
    await asyncio.gather(*(objects.create(key, value) for key, value in missing))
