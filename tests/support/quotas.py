"""Pods, claims and quotas of a namespace, over HTTP."""

from __future__ import annotations

from typing import Any

from support.client import Answer, Object, Query
from support.namespaces import Space
from support.waiting import eventually

Amounts = dict[str, str]


def container(
    name: str = "c", requests: Amounts | None = None, limits: Amounts | None = None
) -> Object:
    resources = {"requests": requests, "limits": limits}
    given = {kind: amounts for kind, amounts in resources.items() if amounts is not None}
    return {"name": name, "image": "i", "resources": given}


def post_pod(
    space: Space, name: str, *containers: Object, dry_run: bool = False, **spec: Any
) -> Answer:
    spec.setdefault("automountServiceAccountToken", False)
    body = {
        "metadata": {"name": name},
        "spec": {"containers": list(containers or (container(),)), **spec},
    }
    query: dict[str, Query] = {"dryRun": "All"} if dry_run else {}
    return space.client.post(space.collection("pods").path, body, **query)


def post_claim(space: Space, name: str, storage: str, class_name: str | None = None) -> Answer:
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": storage}},
    }
    if class_name is not None:
        spec["storageClassName"] = class_name
    body = {"metadata": {"name": name}, "spec": spec}
    return space.client.post(space.collection("persistentvolumeclaims").path, body)


def post_service(space: Space, name: str, kind: str, ports: int = 1, **spec: Any) -> Answer:
    listed = [{"name": f"p{number}", "port": 80 + number} for number in range(ports)]
    body = {"metadata": {"name": name}, "spec": {"type": kind, "ports": listed, **spec}}
    return space.client.post(space.collection("services").path, body)


def make_quota(space: Space, name: str, hard: Amounts, **spec: Any) -> None:
    """Create a quota and wait until its status has the usage."""
    quotas = space.collection("resourcequotas")
    quotas.create(name, spec={"hard": hard, **spec})

    def is_counted() -> bool:
        status = quotas.read(name)["status"]
        return status.get("hard") == hard and set(status.get("used", ())) == set(hard)

    eventually(is_counted, f"quota {name} is counted")


def used(space: Space, name: str) -> Amounts:
    result: Amounts = space.collection("resourcequotas").read(name)["status"]["used"]
    return result


def becomes(space: Space, name: str, wanted: Amounts) -> None:
    eventually(lambda: used(space, name) == wanted, f"{name} uses {wanted}")
