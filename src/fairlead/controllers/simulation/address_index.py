"""Finds services and nodes by their addresses and ports, without a look at all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.runtime.sources import SERVICES
from fairlead.controllers.simulation.simulated_nodes import NODES
from fairlead.operations.api import Api
from fairlead.storage.version import Change, Version

_OF_MACHINES = ("InternalIP", "ExternalIP")


class AddressIndex:
    """Follows the services and nodes of a server from its first use."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._services = api.collection(api.resources.named(SERVICES))
        self._nodes = api.collection(api.resources.named(NODES))
        self._is_following = False
        self._clear()

    def _clear(self) -> None:
        # Those with an address by namespace and name; only what the environment of a pod needs.
        self._linked: dict[str, dict[str, Object]] = defaultdict(dict)
        self._places: dict[str, tuple[str | int, ...]] = {}  # by the key of a service or a node
        self._keys: dict[str | int, set[str]] = defaultdict(set)  # of services, by their places
        self._names: dict[str, set[str]] = defaultdict(set)  # of nodes, by address

    def linked_services(self, namespace: str) -> Iterator[Object]:
        """The services of a namespace that have an address, by name. Their ports and labels are
        all that is there."""
        self.follow()
        found = self._linked.get(namespace, {})
        return (found[name] for name in sorted(found))

    def services_at(self, place: str | int) -> Iterator[Object]:
        """The services that have an address, or a port of nodes."""
        self.follow()
        for key in sorted(self._keys.get(place, ())):
            version = self._services.get(key)
            if version is not None:
                yield version.object()

    def nodes_at(self, address: str) -> list[str]:
        """The names of the nodes that have an address."""
        self.follow()
        return sorted(self._names.get(address, ()))

    def follow(self) -> None:
        """Begin to follow, unless it does already. That takes long if there are many services."""
        if self._is_following:
            return
        self._is_following = True
        store, restart = self._api.store, self._restart
        store.follow(self._services, self._service_changed, essential=False, resync=restart)
        store.follow(self._nodes, self._node_changed, essential=False, resync=restart)

    def _restart(self) -> None:
        self._clear()
        for version in self._services.current(""):
            self._set_service(version.key, version)
        for version in self._nodes.current(""):
            self._set_node(version.key, version)

    def _service_changed(self, change: Change) -> None:
        self._set_service(change.key, change.after)

    def _node_changed(self, change: Change) -> None:
        self._set_node(change.key, change.after)

    def _set_service(self, key: str, version: Version | None) -> None:
        service = None if version is None else version.object()
        places: list[str | int] = []
        if service is not None:
            places += [*_addresses_of(service), *_node_ports_of(service)]
        self._move(key, places, self._keys)
        namespace, _, name = key.partition("/")
        linked = self._linked[namespace]
        linked.pop(name, None)
        if service is not None and service["spec"].get("clusterIP", "None") not in ("", "None"):
            linked[name] = {
                "metadata": {"name": name, "labels": service["metadata"].get("labels")},
                "spec": {key: service["spec"].get(key) for key in ("clusterIP", "ports")},
            }
        if not linked:
            del self._linked[namespace]

    def _set_node(self, key: str, version: Version | None) -> None:
        status = {} if version is None else version.object().get("status") or {}
        listed = status.get("addresses") or ()
        addresses = tuple(each["address"] for each in listed if each["type"] in _OF_MACHINES)
        self._move(key, addresses, self._names)

    def _move(self, key: str, places: Iterable[str | int], index: dict[Any, set[str]]) -> None:
        """Note where something is now."""
        for place in self._places.pop(key, ()):
            index[place].discard(key)
            if not index[place]:
                del index[place]
        places = tuple(dict.fromkeys(places))
        for place in places:
            index[place].add(key)
        if places:
            self._places[key] = places


def _addresses_of(service: Object) -> Iterator[str]:
    spec = service["spec"]
    yield from (each for each in spec.get("clusterIPs") or () if each != "None")
    yield from spec.get("externalIPs") or ()
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    yield from (each["ip"] for each in balancer.get("ingress") or () if each.get("ip"))


def _node_ports_of(service: Object) -> Iterator[int]:
    ports = service["spec"].get("ports") or ()
    yield from (each["nodePort"] for each in ports if each.get("nodePort"))
