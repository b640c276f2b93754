"""The cases of the quick bench: a few requests of each kind, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench import objects
from bench.client import APPLY, MERGE, PROTOBUF, TABLE, Maker
from bench.server import Server
from bench.setting_up import call, collection, creator, fill, standing

LISTED = 60
STANDING = 40
LABELS = [f"app-{n}" for n in range(10)]

# Sets up the server for a number of requests, and returns their maker.
Prepare = Callable[[Server, int], Maker]


@dataclass(frozen=True, slots=True)
class Case:
    """`number` requests make a figure; if `watched`, watchers of the namespace receive them,
    too."""

    prepare: Prepare
    number: int
    watched: str = ""


def _get(server: Server, _: int) -> Maker:
    path = collection(server, "quick-get")
    call(server, "POST", path, objects.new("configmaps", "one"))
    return objects.constant(server.address.request("GET", f"{path}/one"))


def _list(accept: str) -> Prepare:
    def prepare(server: Server, _: int) -> Maker:
        path = collection(server, f"quick-list-{len(accept)}", "pods")
        fill(server, creator(server, path), LISTED)
        return objects.constant(server.address.request("GET", path, accept=accept))

    return prepare


def _get_first(accept: str) -> Prepare:
    """Gets of Pods for the first time in this format."""

    def prepare(server: Server, number: int) -> Maker:
        path = collection(server, f"quick-first-{len(accept)}", "pods")
        fill(server, creator(server, path), number)
        item = f"{path}/pod-{objects.COUNTER}"
        return objects.numbered([server.address.request("GET", item, accept=accept)])

    return prepare


def _select(server: Server, _: int) -> Maker:
    path = collection(server, "quick-select")
    fill(server, creator(server, path, labels=LABELS), 10 * LISTED)
    return objects.constant(server.address.request("GET", f"{path}?labelSelector=app%3Dnobody"))


def _create(namespace: str, resource: str, kind: str = "json") -> Prepare:
    def prepare(server: Server, _: int) -> Maker:
        return creator(server, collection(server, namespace, resource), kind)

    return prepare


def _patch(server: Server, _: int) -> Maker:
    body = objects.encode({"data": {"count": f"changed-{objects.COUNTER}"}})
    paths = standing(server, "quick-patch", "configmaps", STANDING)
    return objects.numbered([server.address.request("PATCH", path, body, MERGE) for path in paths])


def _apply_label(server: Server, _: int) -> Maker:
    (path,) = standing(server, "quick-apply", "pods", 1)
    value = objects.new("pods")
    value["metadata"]["labels"] = {**value["metadata"]["labels"], "changed": "label-to-change"}
    body = objects.with_number(objects.encode(value), 1)
    body = body.replace(b"label-to-change", f"changed{objects.COUNTER}".encode())
    return objects.numbered([server.address.request("PATCH", path, body, APPLY)])


def _apply_unchanged(server: Server, _: int) -> Maker:
    (path,) = standing(server, "quick-unchanged", "pods", 1)
    body = objects.encode(objects.new("pods"))
    request = server.address.request("PATCH", path, body, APPLY)
    return objects.constant(objects.with_number(request, 1))


CASES: dict[str, Case] = {
    "get": Case(_get, 40),
    "get-pod-proto-first": Case(_get_first(PROTOBUF), 20),
    "get-pod-table-first": Case(_get_first(TABLE), 20),
    "list-pods": Case(_list("json"), 5),
    "list-pods-proto": Case(_list(PROTOBUF), 5),
    "list-pods-table": Case(_list(TABLE), 5),
    "select-none": Case(_select, 20),
    "create-configmap": Case(_create("quick-create", "configmaps"), 20),
    "create-configmap-proto": Case(_create("quick-create-proto", "configmaps", PROTOBUF), 20),
    "create-pod": Case(_create("quick-create", "pods"), 20),
    "create-pod-proto": Case(_create("quick-create-proto", "pods", PROTOBUF), 20),
    "patch": Case(_patch, 20),
    "apply-label": Case(_apply_label, 20),
    "apply-pod": Case(_apply_unchanged, 20),
    "watch": Case(_create("quick-watch", "configmaps"), 10, "quick-watch"),
}
