"""A definition whose schema changes again and again while two servers on one etcd write objects."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support.client import Client, Object
from support.etcd import needs_etcd
from support.two_servers import Fleet
from support.waiting import eventually

pytestmark = needs_etcd

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "gears.drill.example.com"
GEARS = "/apis/drill.example.com/v1/namespaces/default/gears"
CHANGES = 20
# Each schema takes values that the other one refuses; neither takes the third.
NUMBER, TEXT = {"type": "integer", "maximum": 10}, {"type": "string"}
TRIED: tuple[Any, ...] = (5, "text", True, 11)
ALLOWED = (5, "text")


def definition(size: Object) -> Object:
    schema = {
        "type": "object",
        "properties": {"size": size, "constant": {"type": "string", "default": "x"}},
        "required": ["size"],
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "gears", "singular": "gear", "kind": "Gear", "listKind": "GearList"}
    spec = {"group": "drill.example.com", "scope": "Namespaced", "names": names}
    return {"metadata": {"name": NAME}, "spec": {**spec, "versions": [version]}}


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    fleet = Fleet(tmp_path, ("", ""))
    yield fleet
    fleet.close()


def is_served(client: Client) -> bool:
    return client.get(GEARS).status == 200


class Writer(threading.Thread):
    """Creates and updates objects with all values, until `done`."""

    def __init__(self, client: Client, name: str, done: threading.Event) -> None:
        super().__init__()
        self._client, self._name, self._done = client, name, done
        self.answers: Counter[int] = Counter()
        self.wrongly_taken: list[Any] = []

    def run(self) -> None:
        try:
            self._write()
        finally:
            self._client.close()

    def _write(self) -> None:
        for number in count():
            if self._done.is_set():
                return
            size = TRIED[number % len(TRIED)]
            value = {
                "apiVersion": "drill.example.com/v1",
                "kind": "Gear",
                "metadata": {"name": f"{self._name}-{number}"},
                "size": size,
            }
            created = self._client.post(GEARS, value)
            self._take(created.status, size)
            patched = self._client.patch(f"{GEARS}/{self._name}-{number}", {"size": TRIED[-2]})
            self._take(patched.status, TRIED[-2])

    def has_answers(self, count: int) -> bool:
        return self.answers.total() >= count

    def _take(self, status: int, size: Any) -> None:
        self.answers[status] += 1
        if status < 300 and size not in ALLOWED:
            self.wrongly_taken.append(size)


@pytest.mark.slow
def test_no_server_stores_what_no_schema_allows_while_it_changes(fleet: Fleet) -> None:
    first, second = (member.client for member in fleet.members)
    assert first.post(DEFINITIONS, definition(NUMBER)).status == 201
    for client in (first, second):
        eventually(partial(is_served, client), "it is served")
    done = threading.Event()
    writers = [
        Writer(client.clone(), name, done)
        for client, name in ((first, "first"), (second, "second"))
    ]
    for writer in writers:
        writer.start()
    for number in range(CHANGES):
        schema = definition((TEXT, NUMBER)[number % 2])
        answer = first.patch(f"{DEFINITIONS}/{NAME}", {"spec": schema["spec"]})
        assert answer.status == 200, answer.text
        before = writers[1].answers.total()
        eventually(partial(writers[1].has_answers, before + len(TRIED)), "the other goes on")
    done.set()
    for writer in writers:
        writer.join(20)
        assert set(writer.answers) <= {200, 201, 404, 409, 422}, writer.answers
        assert {201, 422} <= set(writer.answers)
        assert not writer.wrongly_taken
    for client in (first, second):
        items = client.get(GEARS).body["items"]
        assert {repr(item["size"]) for item in items} <= set(map(repr, ALLOWED))
