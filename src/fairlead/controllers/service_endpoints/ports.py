"""Ports of endpoints, in the order in which the reference writes them."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import md5
from typing import NamedTuple

from fairlead.operations.api import Object


class Port(NamedTuple):
    """An endpoint port; a number of None means any port."""

    name: str
    number: int | None
    protocol: str
    application: str | None

    def in_endpoints(self) -> Object:
        value: Object = {"port": self.number, "protocol": self.protocol}
        if self.name:
            value["name"] = self.name
        return self._with_application(value)

    def in_slice(self) -> Object:
        value: Object = {"name": self.name, "protocol": self.protocol}
        if self.number is not None:
            value["port"] = self.number
        return self._with_application(value)

    def _with_application(self, value: Object) -> Object:
        return value if self.application is None else {**value, "appProtocol": self.application}


def read_port(value: Object) -> Port:
    """Parse a port of Endpoints or of a slice."""
    protocol = value.get("protocol") or "TCP"
    return Port(value.get("name") or "", value.get("port"), protocol, value.get("appProtocol"))


def _text(value: str | int | None) -> str:
    return "<nil>" if value is None else str(value)


def _endpoints_order(port: Port) -> str:
    text = (
        f"(v1.EndpointPort){{Name:(string){port.name} Port:(int32){port.number}"
        f" Protocol:(v1.Protocol){port.protocol} AppProtocol:(*string){_text(port.application)}}}"
    )
    return md5(text.encode(), usedforsecurity=False).hexdigest()


def _slice_order(port: Port) -> str:
    text = (
        f"(v1.EndpointPort){{Name:(*string){port.name} Protocol:(*v1.Protocol){port.protocol}"
        f" Port:(*int32){_text(port.number)} AppProtocol:(*string){_text(port.application)}}}"
    )
    return md5(text.encode(), usedforsecurity=False).hexdigest()


def endpoints_ports(ports: Iterable[Port]) -> list[Port]:
    """Ports in the order of Endpoints: by the hash that the reference uses, so that clients see the
    same order."""
    listed = list(ports)
    return sorted(listed, key=_endpoints_order) if len(listed) > 1 else listed


def slice_ports(ports: Iterable[Port]) -> tuple[Port, ...]:
    """Ports in the order of slices."""
    listed = tuple(ports)
    return tuple(sorted(listed, key=_slice_order)) if len(listed) > 1 else listed
