"""The stores of resources that are kept in other etcd clusters, by `--etcd-servers-overrides`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from fairlead.process.assembly import StartError
from fairlead.process.stores import etcd_log, store_over
from fairlead.resources.registry import Resource, Resources
from fairlead.storage.backend import StorageError
from fairlead.storage.etcd.flags import member_urls
from fairlead.storage.etcd.overrides import FLAG, Override, overrides_of
from fairlead.storage.store import Store

# Resources of which nothing depends on the revisions, and which share no transaction with other
# objects, except the charge of a quota, which may be written before.
_OVERRIDABLE = ("core/v1/events", "coordination/v1/leases")


def clusters_of(options: argparse.Namespace, resources: Resources) -> dict[str, tuple[str, ...]]:
    """Return the members of other clusters by the names of the resources in the store. Raises
    StartError for resources that cannot be kept apart."""
    main = {url.rstrip("/") for url in member_urls(options)}
    clusters: dict[str, tuple[str, ...]] = {}
    for override in overrides_of(options):
        name = resources.stored_as(_resource_of(override, resources))
        if clusters.setdefault(name, override.urls) != override.urls:
            raise StartError(f"{FLAG}: {name} cannot be kept in two clusters")
    return {name: urls for name, urls in clusters.items() if set(urls) != main}


def _resource_of(override: Override, resources: Resources) -> Resource:
    shown = f"{override.group}/{override.resource}"
    found = [
        resource
        for group_version in resources.group_versions()
        for resource in group_version.resources.values()
        if (resource.group, resource.name) == (override.group, override.resource)
    ]
    if not found:
        raise StartError(f"{FLAG}: {shown} is not a resource of this release")
    permitted = [resources.named(key) for key in _OVERRIDABLE]
    if resources.stored_as(found[0]) not in map(resources.stored_as, permitted):
        listed = " and ".join(f"{resource.group}/{resource.name}" for resource in permitted)
        raise StartError(
            f"{FLAG}: {shown} cannot be kept in another cluster, because writes depend on it or"
            f" share their transaction with other objects; only {listed} can"
        )
    return found[0]


async def open_overrides(
    options: argparse.Namespace, resources: Resources, clusters: Mapping[str, tuple[str, ...]]
) -> dict[str, Store]:
    """Open one store for each set of members; returns them by resource. Raises StartError."""
    stores: dict[tuple[str, ...], Store] = {}
    for urls in dict.fromkeys(clusters.values()):
        held = frozenset(name for name, others in clusters.items() if others == urls)
        log = etcd_log(options, resources, urls=urls, holds=held.__contains__)
        stores[urls] = store_over(options, log)
        try:
            await stores[urls].open()
        except StorageError as error:
            raise StartError(f"{FLAG}: {';'.join(urls)}: {error}") from None
    return {name: stores[urls] for name, urls in clusters.items()}
