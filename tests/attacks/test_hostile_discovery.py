"""Extension servers that lie to discovery: huge, slow, broken, endless and redirecting answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.client import Object
from support.namespaces import random_word
from support.neighbour import ReceivedRequest, Reply
from support.registered import Shelved
from support.waiting import eventually

ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
BINARY = ACCEPT.replace("json", "vnd.kubernetes.protobuf", 1)
MOST = 250 * 1024 * 1024  # bytes that the server may grow by


def entry(name: str, **more: Any) -> Object:
    return {"name": name, "singularName": "", "namespaced": True, "kind": "Book", **more}


def listing(*entries: object) -> bytes:
    return json.dumps({"kind": "APIResourceList", "resources": entries}).encode()


def many() -> bytes:
    return listing(*(entry(f"r{number}", verbs=["get", "list"]) for number in range(10_000)))


def drips(until: threading.Event) -> Iterator[tuple[threading.Event | None, bytes]]:
    yield None, b'{"resources": ['
    while not until.wait(0.2):
        yield None, b" "


class Liars:
    """One server whose groups answer each in its own way."""

    def __init__(self, shelved: Shelved) -> None:
        self.over = threading.Event()
        self._honest = shelved.shelf._answer
        self.replies: dict[str, Reply] = {
            "huge": Reply(body=listing(entry("x" * 3 * 1024 * 1024))),
            "many": Reply(body=many()),
            "broken": Reply(body=b'{"resources": [{"name": "x"'),
            "deep": Reply(body=b'{"resources": ' + b"[" * 500_000),
            "redirects": Reply(302, {"Location": "https://127.0.0.1:1/apis"}),
            "html": Reply(200, {"Content-Type": "text/html"}, b"<html>not found</html>"),
            "unchanged": Reply(304, {"ETag": '"1"'}),
            "odd": Reply(
                body=listing(
                    7,
                    entry(""),
                    entry("a/b/c", verbs=3),
                    entry("cut/status", verbs=["get", 5]),
                    {"name": ["x"]},
                )
            ),
        }

    def answer(self, request: ReceivedRequest) -> Reply:
        if request.path.count("/") < 3:
            return Reply(404)
        word = request.path.split("/")[2].partition("-")[0]
        if word == "slow":
            return Reply(pieces=drips(self.over))
        return self.replies.get(word) or self._honest(request)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[Shelved, Liars]]:
    shelved = Shelved(tmp_path, "kubernetes", "--release", "1.36")
    liars = Liars(shelved)
    shelved.shelf._neighbour.answer = liars.answer
    yield shelved, liars
    liars.over.set()
    shelved.close()


def test_what_extension_servers_answer_harms_nobody_else(
    running: tuple[Shelved, Liars],
) -> None:
    shelved, liars = running
    before = _memory(shelved)
    names = [f"{word}-{random_word()}.example.com" for word in (*liars.replies, "slow", "fine")]
    for name in names:
        shelved.register(group=name)

    def described() -> dict[str, Object]:
        answer = shelved.client.get("/apis", headers={"Accept": ACCEPT})
        assert answer.status == 200
        groups = {item["metadata"]["name"]: item["versions"][0] for item in answer.body["items"]}
        return {name.partition("-")[0]: groups[name] for name in names}

    def is_complete() -> bool:
        found = described()
        return "resources" in found["fine"] and "resources" in found["many"]

    eventually(is_complete, "honest servers are described")
    found = described()
    [books] = found["fine"]["resources"]
    assert (books["resource"], found["fine"]["freshness"]) == ("books", "Current")
    assert len(found["many"]["resources"]) == 10_000
    for word in ("huge", "broken", "deep", "redirects", "html", "unchanged", "slow"):
        assert found[word] == {"version": "v1", "freshness": "Stale"}, word
    assert {item["resource"] for item in found["odd"].get("resources", ())} <= {"a", "cut"}
    binary = shelved.client.get("/apis", headers={"Accept": BINARY})
    assert binary.status == 200
    assert shelved.client.get("/api/v1/namespaces").status == 200
    assert _memory(shelved) - before < MOST


def _memory(shelved: Shelved) -> float:
    lines = shelved.client.get("/metrics").text.splitlines()
    [line] = [line for line in lines if line.startswith("process_resident_memory_bytes ")]
    return float(line.split()[1])
