"""A client of servers that speak this API, Fairlead or the reference.

async with Client.load() as client:
    pods = await client.resource("pods")
    print(await pods.get("web", "default"))
"""

from __future__ import annotations

from fairlead.client.access.model import Access, AccessError, Impersonation
from fairlead.client.client import Client
from fairlead.client.discovery import ResourceType, UnknownKind, UnknownResource
from fairlead.client.errors import ApiError
from fairlead.client.resources import Resource
from fairlead.client.transport.errors import Unreachable

__all__ = [
    "Access",
    "AccessError",
    "ApiError",
    "Client",
    "Impersonation",
    "Resource",
    "ResourceType",
    "UnknownKind",
    "UnknownResource",
    "Unreachable",
]
