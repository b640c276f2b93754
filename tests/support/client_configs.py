"""Client configuration files for tests."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from pathlib import Path
from typing import Any

from fairlead.client import Access, Client
from fairlead.client.errors import Forbidden
from support.process import ServerProcess

Fields = dict[str, Any]


def configuration(
    cluster: Fields | None = None, user: Fields | None = None, **context: Any
) -> Fields:
    """One context, `here`, of the cluster `place` and the user `me`."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "place", "cluster": cluster or {"server": "https://place"}}],
        "users": [{"name": "me", "user": user or {}}],
        "contexts": [{"name": "here", "context": {"cluster": "place", "user": "me", **context}}],
    }


def write(path: Path, value: Fields) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def cluster_of(running: ServerProcess, **more: Any) -> Fields:
    """A running server as the entry of a cluster."""
    ca = base64.b64encode(running.ca.read_bytes()).decode()
    return {"server": running.address, "certificate-authority-data": ca, **more}


def seen_as(access: Access) -> str:
    """Who the server takes us for."""

    async def ask() -> str:
        async with Client(access) as client:
            return await seen_by(client)

    return asyncio.run(ask())


async def seen_by(client: Client) -> str:
    """The same for a client: from what a server says about a path that nobody may read."""
    try:
        await client.raw("GET", "/nobody")
    except Forbidden as error:
        found = re.search(r'User "([^"]*)"', error.message)
        return found[1] if found else ""
    raise AssertionError("the path was allowed")
