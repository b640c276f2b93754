"""A client library for servers of this API, Fairlead or the reference.

async with Client.load() as client:
    pods = await client.resource("pods")
    print(await pods.get("web", "default"))

- `client`, `sync`: the asynchronous and the blocking client
- `resources`, `watch`, `conditions`, `discovery`: operations on objects and resources
- `processes`, `port_forwarding`, `sockets`, `spdy_streams`: commands in containers, connections to
  ports of pods
- `informer/`, `election`: cached objects with change handlers; leader election
- `session`, `errors`: requests with retries, and their errors
- `access/`: server address and credentials from configuration files
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairlead.client.access.model import Access, AccessError, Impersonation
from fairlead.client.client import Client
from fairlead.client.discovery import ResourceType, UnknownKind, UnknownResource
from fairlead.client.errors import ApiError, Unreachable
from fairlead.client.resources import Resource

if TYPE_CHECKING:
    from fairlead.client.conditions import exists, has_condition, has_value, is_gone
    from fairlead.client.election import LeaderElection, Pace
    from fairlead.client.informer import Informer
    from fairlead.client.port_forwarding import ForwardingError, PortConnection, PortForward
    from fairlead.client.processes import Outcome, RemoteProcess, Streams
    from fairlead.client.sync import SyncClient, SyncResource
    from fairlead.client.watch import Event, Watch

__all__ = [
    "Access",
    "AccessError",
    "ApiError",
    "Client",
    "Event",
    "ForwardingError",
    "Impersonation",
    "Informer",
    "LeaderElection",
    "Outcome",
    "Pace",
    "PortConnection",
    "PortForward",
    "RemoteProcess",
    "Resource",
    "ResourceType",
    "Streams",
    "SyncClient",
    "SyncResource",
    "UnknownKind",
    "UnknownResource",
    "Unreachable",
    "Watch",
    "exists",
    "has_condition",
    "has_value",
    "is_gone",
]
# Loaded lazily: few programs need them.
_LATER = {
    "LeaderElection": "election",
    "Pace": "election",
    "ForwardingError": "port_forwarding",
    "Informer": "informer",
    "Outcome": "processes",
    "PortConnection": "port_forwarding",
    "PortForward": "port_forwarding",
    "RemoteProcess": "processes",
    "Streams": "processes",
    "SyncClient": "sync",
    "SyncResource": "sync",
    "exists": "conditions",
    "has_condition": "conditions",
    "has_value": "conditions",
    "is_gone": "conditions",
    "Event": "watch",
    "Watch": "watch",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
