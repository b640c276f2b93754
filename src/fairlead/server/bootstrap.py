"""Objects that exist in a fresh server."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fairlead.endpoints import writing
from fairlead.endpoints.api import Api
from fairlead.kinds.context import Context
from fairlead.storage.store import Conflict


async def create_bootstrap_objects(api: Api) -> None:
    """Create what is missing; what exists is left as it is."""
    dialect = api.dialect
    for name in (
        "default",
        dialect.system_namespace,
        dialect.public_namespace,
        dialect.node_lease_namespace,
    ):
        await _create(api, "core/v1/namespaces", {"metadata": {"name": name}})


async def _create(api: Api, key: str, value: dict[str, Any]) -> None:
    try:
        resource = api.resources.named(key)
    except KeyError:
        return  # switched off by --runtime-config
    metadata = value["metadata"]
    collection = api.collection(resource)
    storage_key = resource.storage_key(metadata.get("namespace", ""), metadata["name"])
    if api.store.latest(collection, storage_key) is not None:
        return
    context = Context(api.dialect, api.gates, api.lookup)
    writing.default(api, resource, value, context)
    writing.set_system_fields(metadata)
    api.behaviour(resource).prepare_create(value, context)
    with suppress(Conflict):
        await api.store.put(collection, storage_key, writing.ordered(value), 0)
