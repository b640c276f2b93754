"""Reads: one object, lists in every format the first time and again, selectors."""

from __future__ import annotations

import time

from bench import objects
from bench.client import PROTOBUF, TABLE, Maker, Sample, connections, drive
from bench.measuring import PATIENCE, Bench, Row, Work
from bench.setting_up import SHARING, call, collection, creator, fill, many, stored

LISTED = 11_000
PAGE = 500
FIRST_TIMES = 5
FORMS = {"json": "json", "proto": PROTOBUF, "table": TABLE}


def get(name: str, resource: str, form: str) -> Work:
    def work(bench: Bench) -> list[Row]:
        server = bench.server()
        path = collection(server, f"bench-{name}", resource)
        call(server, "POST", path, objects.new(resource, "one"))
        request = server.address.request("GET", f"{path}/one", accept=FORMS[form])
        return bench.load(name, objects.constant(request))

    return work


def list_many(name: str, query: str) -> Work:
    """Lists of ConfigMaps in JSON, as in the measurement of the reference."""

    def work(bench: Bench) -> list[Row]:
        server = bench.server()
        path = collection(server, "bench-list")
        if stored(server, path) < LISTED:
            fill(server, creator(server, path), LISTED)
        request = server.address.request("GET", path + query)
        return bench.load(name, objects.constant(request))

    return work


def list_pods(bench: Bench) -> list[Row]:
    """500 Pods in each format: first requests, in several namespaces, then repeated ones."""
    server = bench.server()
    paths = [collection(server, f"bench-pods-{n}", "pods") for n in range(FIRST_TIMES)]
    for path in paths:
        fill(server, creator(server, path), PAGE - 1)  # besides the first one
    time.sleep(2.0)  # lets controllers process the new pods
    rows = []
    for form, accept in FORMS.items():
        requests = [server.address.request("GET", path, accept=accept) for path in paths]
        with connections(server.address, 1) as opened:
            drive(opened, objects.constant(server.address.request("GET", "/livez")), count=10)
            each = iter(requests).__next__

            def first(make: Maker = each) -> Sample:
                bench.pace.wait(PATIENCE)
                return drive(opened, make, count=1)

            rows.append(bench.measure(f"list-pods-{form}-first", server, first, FIRST_TIMES))
        rows += bench.load(f"list-pods-{form}", objects.constant(requests[0]), 1)
    return rows


def select(name: str, selector: str, number: int) -> Work:
    """A label selector over 20,000 ConfigMaps."""

    def work(bench: Bench) -> list[Row]:
        server = bench.server()
        path = f"{many(server)}?labelSelector={selector}"
        request = server.address.request("GET", path)
        with connections(server.address, 1) as (connection,):
            connection.call(request)
            items = connection.body.count(b'"uid":')
            if bool(items) != bool(number):  # only part of a long body is kept
                return [Row(name, error=f"{path} found {items} objects")]
        return bench.load(name, objects.constant(request), 1)

    return work


READS: dict[str, Work] = {
    "get": get("get", "configmaps", "json"),
    "get-pod": get("get-pod", "pods", "json"),
    "get-proto": get("get-proto", "configmaps", "proto"),
    "get-pod-proto": get("get-pod-proto", "pods", "proto"),
    "list-pods": list_pods,
    "list-500": list_many("list-500", "?limit=500"),
    "list-all": list_many("list-all", ""),
    "list-all-rv0": list_many("list-all-rv0", "?resourceVersion=0"),
    "select-none": select("select-none", "app%3Dnobody", 0),
    "select-100": select("select-100", "app%3Dapp-7", SHARING),
}
