"""The initial objects of a new server, besides the roles and bindings of authorization."""

from __future__ import annotations

import argparse
import asyncio

from fairlead.base import clock
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.controllers import legacy_tokens, service_ranges
from fairlead.controllers.flow_control import conditions, objects
from fairlead.controllers.flow_control.conditions import DanglingSchemas
from fairlead.controllers.flow_control.objects import FlowControlObjects
from fairlead.controllers.framework import Controller
from fairlead.controllers.service_accounts import SystemNamespaces
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client, own_client
from fairlead.process.authentication_config_map import AuthenticationInfo
from fairlead.process.certificates.authority import Pki
from fairlead.resources.gates import Gates

NAMESPACES = "core/v1/namespaces"

_PRIORITY_CLASSES = (
    (
        "system-cluster-critical",
        2_000_000_000,
        "For pods without which the cluster does not work; they may run on any node.",
    ),
    (
        "system-node-critical",
        2_000_001_000,
        "For pods without which a node does not work; they stay where they are.",
    ),
)


class ReconciledObjects:
    """Initial objects that controllers restore whenever they are changed."""

    def __init__(self, api: Api, options: argparse.Namespace, pki: Pki) -> None:
        dialect = api.dialect
        self._flow_control = FlowControlObjects(
            own_client(api, objects.MANAGER), dialect, api.resources.release
        )
        self._info = AuthenticationInfo(
            own_client(api), dialect, options, api.authentication, pki, api.gates
        )
        self.controllers: list[Controller] = [
            self._flow_control,
            self._info,
            SystemNamespaces(own_client(api), dialect),
        ]
        if options.enable_priority_and_fairness:
            self.controllers.append(DanglingSchemas(own_client(api, conditions.MANAGER), api.gates))
        if api.gates["LegacyServiceAccountTokenTracking"]:
            self.controllers.append(
                legacy_tokens.LegacyTokenTracking(own_client(api), dialect, api.authentication)
            )
        allocators = api.allocators
        if allocators is not None and allocators.objects is not None:
            self.controllers.append(
                service_ranges.DefaultServiceRange(
                    own_client(api), dialect.own_service, allocators.configured
                )
            )
            self.controllers.append(service_ranges.AddressRepair(own_client(api), allocators))

    async def prepare(self) -> None:
        """Create missing objects. Their namespaces must exist."""
        await asyncio.gather(self._flow_control.prepare(), self._info.prepare())


def first_objects(
    dialect: Dialect, gates: Gates, address: str, port: int
) -> list[tuple[str, Object]]:
    """Return the objects to create if they are missing, with their resources. Existing ones are
    left unchanged."""
    objects: list[tuple[str, Object]] = [
        (NAMESPACES, {"metadata": {"name": name}})
        for name in ("default", *dialect.system_namespaces)
    ]
    for name, value, description in _PRIORITY_CLASSES:
        priority_class = {"metadata": {"name": name}, "value": value, "description": description}
        objects.append(("scheduling/v1/priorityclasses", priority_class))
    objects.append(("core/v1/services", own_service(dialect, address, port)))
    if gates["LegacyServiceAccountTokenTracking"]:
        name = f"{dialect.system_prefix}-apiserver-legacy-service-account-token-tracking"
        metadata = {"name": name, "namespace": dialect.system_namespace}
        since = {"since": clock.now().strftime("%Y-%m-%d")}
        objects.append(("core/v1/configmaps", {"metadata": metadata, "data": since}))
    return objects


def own_service(dialect: Dialect, address: str, port: int) -> Object:
    """Return the service by which pods reach this server, at the first address of the services'
    range."""
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


async def create_first_objects(api: Api, objects: Client, address: str, port: int) -> None:
    """Create the namespaces first, then the objects in them."""
    wanted = first_objects(api.dialect, api.gates, address, port)
    items = [item for item in wanted if objects.serves(item[0])]
    missing = [item for item in items if _is_missing(objects, *item)]
    for in_namespaces in (False, True):
        batch = [item for item in missing if (item[0] != NAMESPACES) is in_namespaces]
        await asyncio.gather(*(_create(objects, key, value) for key, value in batch))


async def _create(objects: Client, key: str, value: Object) -> None:
    """Create an object; succeeds if another server creates it at the same time."""
    try:
        await objects.create(key, value)
    except StatusError:
        if _is_missing(objects, key, value):
            raise


def _is_missing(objects: Client, key: str, value: Object) -> bool:
    metadata = value["metadata"]
    return objects.find(key, metadata.get("namespace", ""), metadata["name"]) is None
