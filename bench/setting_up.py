"""Setup of workloads: namespaces, objects, and requests that create them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from bench import objects
from bench.client import APPLY, Maker, WorkFailedError, connections, drive
from bench.server import Server

HELD = 20_000
SHARING = 100  # objects per label


def call(server: Server, method: str, path: str, body: Any = None, kind: str = "json") -> Any:
    """Send one setup request, which must succeed; return its answer unless it is long."""
    request = server.address.request(method, path, objects.encode(body) if body else b"", kind)
    deadline = time.perf_counter() + 10
    with connections(server.address, 1) as (connection,):
        # A new namespace has no service account yet, so a Pod may be refused for a moment.
        while connection.call(request)[0] == 403 and time.perf_counter() < deadline:
            time.sleep(0.1)
        connection.check()
        return json.loads(connection.body) if connection.size < 60_000 else None


def collection(server: Server, namespace: str, resource: str = "configmaps") -> str:
    """Return the path of a namespace's objects; creates the namespace."""
    try:
        call(server, "GET", f"/api/v1/namespaces/{namespace}")
    except WorkFailedError:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        call(server, "POST", "/api/v1/namespaces", body)
        # The reference has no controllers here; ours may have made it already.
        account = {"metadata": {"name": "default"}}
        with suppress(WorkFailedError):
            call(server, "POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", account)
    return f"/api/v1/namespaces/{namespace}/{resource}"


def creator(server: Server, path: str, kind: str = "json", labels: Sequence[str] = ()) -> Maker:
    """Make requests that create objects with new names, with the labels `app` in turn."""
    resource = path.rpartition("/")[2]
    if resource == "pods":  # waits for the service account
        call(server, "POST", path, objects.new(resource, "first"))
    requests = []
    for label in labels or [""]:
        value = objects.new(resource)
        if label:
            value["metadata"] = {**value["metadata"], "labels": {"app": label}}
        body = objects.encode(value) if kind == "json" else objects.message(resource, value)
        requests.append(server.address.request("POST", path, body, kind, accept=kind))
    return objects.numbered(requests)


def fill(server: Server, make: Maker, number: int) -> None:
    """Create that many objects."""
    with connections(server.address, 16) as opened:
        drive(opened, make, count=number)


def stored(server: Server, path: str) -> int:
    """Count the objects of a collection."""
    page = call(server, "GET", f"{path}?limit=1")
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))


def many(server: Server) -> str:
    """Return the path of 20,000 ConfigMaps, of which 100 share each label; created on first use."""
    path = collection(server, "bench-many")
    if stored(server, path) < HELD:
        labels = [f"app-{n}" for n in range(HELD // SHARING)]
        fill(server, creator(server, path, labels=labels), HELD)
    return path


def standing(server: Server, name: str, resource: str, number: int) -> list[str]:
    """Return the paths of so many different objects, applied by the manager of the bench. They are
    numbered from 1: number 0 would leave the marks in paths and bodies."""
    path = collection(server, f"bench-{name}", resource)
    if resource == "pods":
        call(server, "POST", path, objects.new(resource, "first"))
    body = objects.new(resource)
    item = f"{path}/{body['metadata']['name']}?fieldManager=bench"
    template = server.address.request("PATCH", item, objects.encode(body), APPLY)
    with connections(server.address, 1) as (connection,):
        for n in range(1, number + 1):
            connection.call(objects.with_number(template, n))
            connection.check()
    return [item.replace(objects.COUNTER, f"{n:08d}") for n in range(1, number + 1)]
