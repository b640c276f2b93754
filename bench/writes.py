"""Writes of objects that all differ."""

from __future__ import annotations

from itertools import count, cycle

from bench import objects
from bench.client import APPLY, MERGE, PROTOBUF
from bench.measuring import Bench, Row, Work
from bench.setting_up import call, collection, creator, standing
from bench.targets import BY_PROTOBUF, OF_ETCD_ALONE

STANDING = 600  # objects that are written in turn: more than the server's caches hold


def create(name: str, resource: str) -> Work:
    """Creates by JSON, then by protobuf."""

    def work(bench: Bench) -> list[Row]:
        server = bench.server()
        rows = []
        for suffix, kind in {"": "json", "-proto": PROTOBUF}.items():
            path = collection(server, f"bench-{name}{suffix}", resource)
            rows += bench.load(f"{name}{suffix}", creator(server, path, kind))
        rows[1].limit = rows[0].ours * BY_PROTOBUF
        alone = bench.etcd_alone() if name == "create-configmap" else None
        if alone is not None:
            rows[0].min_rate = (alone.rate or 0.0) * OF_ETCD_ALONE
            rows.append(alone)
        return rows

    return work


def update(name: str, resource: str) -> Work:
    """Updates of several objects in turn, each of which changes one value."""

    def work(bench: Bench) -> list[Row]:
        server = bench.server()
        requests = []
        for path in standing(server, name, resource, 64):
            body = call(server, "GET", path.partition("?")[0])
            for key in ("resourceVersion", "managedFields"):
                body["metadata"].pop(key, None)
            changed = body["metadata"]["annotations"] if resource == "pods" else body["data"]
            changed["count"] = objects.COUNTER
            request = server.address.request("PUT", path, objects.encode(body))
            requests.append(request)
        return bench.load(name, objects.numbered(requests))

    return work


def patch(name: str, resource: str, number: int) -> Work:
    """Merge patches of several objects in turn, each of which changes one value."""

    def work(bench: Bench) -> list[Row]:
        server = bench.server()
        fresh = {"count": f"changed-{objects.COUNTER}"}
        value = {"metadata": {"annotations": fresh}} if resource == "pods" else {"data": fresh}
        body = objects.encode(value)
        paths = standing(server, name, resource, number)
        requests = [server.address.request("PATCH", path, body, MERGE) for path in paths]
        return bench.load(name, objects.numbered(requests))

    return work


def apply_unchanged(bench: Bench) -> list[Row]:
    server = bench.server()
    (path,) = standing(server, "apply-pod", "pods", 1)
    body = objects.encode(objects.new("pods"))
    request = objects.with_number(server.address.request("PATCH", path, body, APPLY), 1)
    return bench.load("apply-pod", objects.constant(request), 1)


def apply_label(name: str, query: str = "", *, in_yaml: bool = False, managers: int = 1) -> Work:
    """Applies of which each changes one label of a Pod. The second of two managers applies only a
    label of its own."""

    def work(bench: Bench) -> list[Row]:
        server = bench.server()
        paths = standing(server, name, "pods", STANDING)
        mark = "changed-label-00"
        value = objects.new("pods")
        value["metadata"]["labels"] = {**value["metadata"]["labels"], "release": mark}
        metadata = {"name": value["metadata"]["name"], "labels": {"stage": mark}}
        other = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        encode = objects.encode_yaml if in_yaml else objects.encode
        requests = []
        for number, path in enumerate(paths, 1):
            others_path = path.replace("fieldManager=bench", "fieldManager=other")
            for item, config in [(path, value), (others_path, other)][:managers]:
                request = server.address.request("PATCH", item + query, encode(config), APPLY)
                requests.append(objects.with_number(request, number))
        turns, fresh = cycle(requests), count()

        def make() -> bytes:
            return next(turns).replace(mark.encode(), b"changed-%08d" % next(fresh))

        return bench.load(name, make)

    return work


WRITES: dict[str, Work] = {
    "create-configmap": create("create-configmap", "configmaps"),
    "create-pod": create("create-pod", "pods"),
    "update-configmap": update("update-configmap", "configmaps"),
    "update-pod": update("update-pod", "pods"),
    "patch": patch("patch", "configmaps", STANDING),
    "patch-pod": patch("patch-pod", "pods", STANDING),
    "patch-hot": patch("patch-hot", "configmaps", 1),
    "apply-label": apply_label("apply-label"),
    "apply-pod": apply_unchanged,
}

# The ways in which clients apply a changed configuration.
APPLIES: dict[str, Work] = {
    "apply-label": WRITES["apply-label"],
    "apply-forced": apply_label("apply-forced", "&force=true"),
    "apply-yaml": apply_label("apply-yaml", in_yaml=True),
    "apply-in-turn": apply_label("apply-in-turn", managers=2),
}
