"""Kubeconfig files for tests."""

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
    """Return a kubeconfig with one context, `here`, of the cluster `place` and the user `me`."""
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
    """Return the cluster entry for a running server."""
    ca = base64.b64encode(running.ca.read_bytes()).decode()
    return {"server": running.address, "certificate-authority-data": ca, **more}


def seen_as(access: Access) -> str:
    """Return the user name that the server authenticates."""

    async def ask() -> str:
        async with Client(access) as client:
            return await seen_by(client)

    return asyncio.run(ask())


async def seen_by(client: Client) -> str:
    """Like `seen_as` for a client: reads the name from the error for a forbidden path."""
    try:
        await client.raw("GET", "/nobody")
    except Forbidden as error:
        match = re.search(r'User "([^"]*)"', error.message)
        return match[1] if match else ""
    raise AssertionError("the path was allowed")
