"""Resolves names as a cluster's name server does: those of services, of pods and of hosts."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping

from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.address_index import AddressIndex
from fairlead.controllers.simulation.runtime.sources import SERVICES, hostname_of
from fairlead.controllers.simulation.runtime.surroundings import NO_NAME, NetworkError
from fairlead.controllers.simulation.simulated_nodes import PODS
from fairlead.operations.api import Api
from fairlead.storage.selection import Requirement, Selection
from fairlead.storage.version import Version

SLICES = "discovery/v1/endpointslices"
DOMAIN = "cluster.local"
SERVICE_OF_SLICE = "kubernetes.io/service-name"
_LOCAL = {"localhost": ["127.0.0.1"]}
_MAX_ALIASES = 5


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class Names:
    """The names that a pod can resolve."""

    def __init__(self, api: Api, index: AddressIndex, pod: Object) -> None:
        self._api = api
        self._pod = pod
        self._namespace: str = pod["metadata"]["namespace"]
        self._slices = api.collection(api.resources.named(SLICES))
        self._pods = api.collection(api.resources.named(PODS))
        self._index = index

    def addresses(self, host: str) -> list[str]:
        """Raises NetworkError."""
        if is_address(host):
            return [host]
        found = self._own(host) or self._served(host, "A")
        if not found:
            raise NetworkError(NO_NAME)
        return found

    def records(self, kind: str, host: str) -> list[str]:
        """The records of a name; none if there are none. A name with a dot at its end is whole."""
        if kind == "PTR":
            return self._pointers(host)
        if kind == "SRV":
            return self._ports(host)
        if kind == "CNAME":
            return self._aliases(host)
        if is_address(host):
            return []
        return self._served(host, kind)

    def configuration(self) -> Mapping[str, list[str]]:
        """What the resolver of the pod is told."""
        namespace, spec = self._namespace, self._pod["spec"]
        search = [f"{namespace}.svc.{DOMAIN}", f"svc.{DOMAIN}", DOMAIN]
        lines = {"search": search, "nameserver": [self._server()], "options": ["ndots:5"]}
        policy, own = spec.get("dnsPolicy") or "ClusterFirst", spec.get("dnsConfig") or {}
        if policy == "None" or (policy == "ClusterFirst" and spec.get("hostNetwork")):
            lines = {"search": [], "nameserver": [], "options": []}
        elif policy == "Default":
            lines = {"search": [], "nameserver": ["8.8.8.8"], "options": []}
        options = (
            f"{each['name']}:{each['value']}" if each.get("value") else each["name"]
            for each in own.get("options") or ()
        )
        lines["nameserver"] = [*lines["nameserver"], *(own.get("nameservers") or ())]
        lines["search"] = [*lines["search"], *(own.get("searches") or ())]
        lines["options"] = [*lines["options"], *options]
        return {name: words for name, words in lines.items() if words}

    def _server(self) -> str:
        service = self._api.lookup(SERVICES, "kube-system", "kube-dns")
        address: str = (service or {}).get("spec", {}).get("clusterIP") or "10.0.0.10"
        return address

    def _own(self, host: str) -> list[str]:
        """The names in the hosts file of the pod."""
        if host in _LOCAL:
            return _LOCAL[host]
        aliases = self._pod["spec"].get("hostAliases") or ()
        found = [each["ip"] for each in aliases if host in (each.get("hostnames") or ())]
        spec, name = self._pod["spec"], hostname_of(self._pod)
        own = (name, f"{name}.{spec.get('subdomain')}.{self._namespace}.svc.{DOMAIN}")
        if not found and host in own:
            found = [each["ip"] for each in self._pod["status"].get("podIPs") or ()]
        return found

    def _served(self, host: str, kind: str) -> list[str]:
        for _ in range(_MAX_ALIASES):
            alias = self._aliases(host)
            if not alias:
                break
            host = alias[0]
        wanted = 6 if kind == "AAAA" else 4
        return [
            address
            for candidate in self._candidates(host)
            for address in candidate
            if ipaddress.ip_address(address).version == wanted
        ]

    def _candidates(self, host: str) -> Iterator[list[str]]:
        """The addresses of each name that a host may be short for; the first that has some."""
        for service, name in self._services_of(host):
            found = self._of_service(service, name)
            if found:
                yield found
                return
        labels = _relative(host).split(".")
        if len(labels) == 3 and labels[2] == "pod" and is_address(labels[0].replace("-", ".")):
            yield [labels[0].replace("-", ".")]

    def _services_of(self, host: str) -> Iterator[tuple[Object, str]]:
        """The services that a name may mean, and the name of an endpoint if it has one."""
        own, labels = self._namespace, _relative(host).split(".")
        if labels[-1] == "svc":
            labels = labels[:-1]
            own = ""
        places = [("", *labels)] if len(labels) == 2 else []
        if own and not host.endswith("."):
            places += [("", labels[0], own)] if len(labels) == 1 else []
            places += [(labels[0], labels[1], own)] if len(labels) == 2 else []
        places += [tuple(labels)] if len(labels) == 3 else []
        for name, service, namespace in places:
            found = self._api.lookup(SERVICES, namespace, service)
            if found is not None:
                yield found, name

    def _of_service(self, service: Object, name: str) -> list[str]:
        spec = service["spec"]
        addresses = [each for each in spec.get("clusterIPs") or () if each != "None"]
        if addresses and not name:
            return addresses
        if addresses or spec.get("type") == "ExternalName":
            return []
        return [
            address
            for endpoint in self._endpoints(service)
            if not name or endpoint.get("hostname") == name
            for address in endpoint["addresses"]
        ]

    def _endpoints(self, service: Object) -> Iterator[Object]:
        for piece in slices_of(self._slices.current(service["metadata"]["namespace"]), service):
            for endpoint in piece.get("endpoints") or ():
                if (endpoint.get("conditions") or {}).get("ready") is not False:
                    yield endpoint

    def _aliases(self, host: str) -> list[str]:
        for service, name in self._services_of(host):
            if not name and service["spec"].get("type") == "ExternalName":
                return [f"{service['spec']['externalName'].rstrip('.')}."]
        return []

    def _ports(self, host: str) -> list[str]:
        """`_name._protocol.service`: the ports of a service and where they are."""
        labels = host.split(".")
        if len(labels) < 3 or not labels[0].startswith("_") or not labels[1].startswith("_"):
            return []
        rest = ".".join(labels[2:])
        for service, _ in self._services_of(rest):
            metadata = service["metadata"]
            target = f"{metadata['name']}.{metadata['namespace']}.svc.{DOMAIN}."
            return [
                f"0 100 {port['port']} {target}"
                for port in service["spec"].get("ports") or ()
                if port.get("name") == labels[0][1:]
                and port.get("protocol", "TCP").lower() == labels[1][1:]
            ]
        return []

    def _pointers(self, host: str) -> list[str]:
        """The names of an address."""
        address = host.removesuffix(".").removesuffix(".in-addr.arpa")
        if address != host.removesuffix("."):
            address = ".".join(reversed(address.split(".")))
        for service in self._index.services_at(address):
            if address in (service["spec"].get("clusterIPs") or ()):
                return [_domain(service)]
        for version in self._pods.current("", _with_address(address)):
            pod = version.object()
            namespace, spec = pod["metadata"]["namespace"], pod["spec"]
            service = self._api.lookup(SERVICES, namespace, spec.get("subdomain") or "") or {}
            if (service.get("spec") or {}).get("clusterIP") != "None":
                continue
            for endpoint in self._endpoints(service):
                if address in endpoint["addresses"] and endpoint.get("hostname"):
                    return [f"{endpoint['hostname']}.{_domain(service)}"]
        return []


def slices_of(versions: list[Version], service: Object) -> Iterator[Object]:
    """The slices of a service among those of its namespace."""
    name = service["metadata"]["name"]
    for version in versions:
        if version.labels.get(SERVICE_OF_SLICE) == name:
            yield version.object()


def _domain(service: Object) -> str:
    metadata = service["metadata"]
    return f"{metadata['name']}.{metadata['namespace']}.svc.{DOMAIN}."


def _with_address(address: str) -> Selection:
    return Selection(fields=(Requirement("status.podIP", "in", frozenset([address])),))


def _relative(host: str) -> str:
    """A name without the domain of the cluster."""
    return host.removesuffix(".").removesuffix(f".{DOMAIN}")
