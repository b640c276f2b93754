"""Writes of custom resources whose schema has 200 fields."""

from __future__ import annotations

import time
from itertools import count, cycle
from typing import Any

from bench import objects
from bench.client import APPLY, WorkFailedError, connections
from bench.measuring import Bench, Row
from bench.server import Server
from bench.setting_up import call, collection

_GROUP, _PLURAL = "bench.example.com", "gadgets"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SECTIONS = 10  # of 20 fields
_STANDING = 300
_READY_SECONDS = 20.0

_SECTION: dict[str, Any] = {
    **{
        f"text{n}": {"type": "string", "maxLength": 200, "pattern": "^[a-z0-9 .-]*$"}
        for n in range(6)
    },
    **{f"size{n}": {"type": "integer", "minimum": 0, "maximum": 1 << 30} for n in range(4)},
    **{f"flag{n}": {"type": "boolean", "default": False} for n in range(3)},
    **{f"mode{n}": {"type": "string", "enum": ["On", "Off", "Auto"]} for n in range(3)},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "ports": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "port": {"type": "integer"}},
        },
    },
}


def _schema() -> dict[str, Any]:
    section = {"type": "object", "properties": _SECTION}
    spec = {"type": "object", "properties": {f"part{n}": section for n in range(_SECTIONS)}}
    return {"type": "object", "properties": {"spec": spec}}


def _new(name: str) -> dict[str, Any]:
    """A gadget with half of the fields of each section."""
    section = {
        **{f"text{n}": f"setting {objects.COUNTER} of part {n}" for n in range(3)},
        **{f"size{n}": objects.SIZE for n in range(2)},
        "mode0": "Auto",
        "flag1": True,
        "labels": {"app": "gadget", "release": objects.COUNTER},
        "ports": [{"name": "http", "port": objects.PORT}, {"name": "metrics", "port": 9090}],
    }
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "Gadget",
        "metadata": {"name": name, "labels": {"app": "gadget"}},
        "spec": {f"part{n}": section for n in range(_SECTIONS)},
    }


def _gadgets(server: Server, namespace: str) -> str:
    """Return the path of the gadgets of a namespace; creates their definition."""
    name = f"{_PLURAL}.{_GROUP}"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": _GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Gadget", "plural": _PLURAL, "singular": "gadget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": _schema()},
                }
            ],
        },
    }
    try:
        call(server, "GET", f"{_DEFINITIONS}/{name}")
    except WorkFailedError:
        call(server, "POST", _DEFINITIONS, definition)
    namespaces = collection(server, namespace).removesuffix("/configmaps")
    path = namespaces.replace("/api/v1/", f"/apis/{_GROUP}/v1/") + f"/{_PLURAL}"
    deadline = time.perf_counter() + _READY_SECONDS
    while True:
        try:
            call(server, "GET", f"{path}?limit=1")
            return path
        except WorkFailedError:
            if time.perf_counter() > deadline:
                raise
            time.sleep(0.2)


def create(bench: Bench) -> list[Row]:
    server = bench.server()
    path = _gadgets(server, "bench-create-custom")
    body = objects.encode(_new(f"gadget-{objects.COUNTER}"))
    requests = [server.address.request("POST", path, body)]
    return bench.load("create-custom", objects.numbered(requests))


def apply(bench: Bench) -> list[Row]:
    """Applies of which each changes one text."""
    server = bench.server()
    path = _gadgets(server, "bench-apply-custom")
    mark = "changed-text-00"
    value = _new(f"gadget-{objects.COUNTER}")
    value["spec"]["part0"] = {**value["spec"]["part0"], "text2": mark}
    item = f"{path}/gadget-{objects.COUNTER}?fieldManager=bench"
    template = server.address.request("PATCH", item, objects.encode(value), APPLY)
    requests = [objects.with_number(template, number) for number in range(1, _STANDING + 1)]
    with connections(server.address, 1) as (connection,):
        for request in requests:
            connection.call(request)
            connection.check()
    turns, fresh = cycle(requests), count()

    def make() -> bytes:
        return next(turns).replace(mark.encode(), b"changed-%07d" % next(fresh))

    return bench.load("apply-custom", make)
