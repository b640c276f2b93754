"""Watches that begin with a list, in one request (`sendInitialEvents`)."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any
from unittest import mock

import pytest
from support.connected import connected
from support.namespaces import Space
from support.scripted import END, Cut, ScriptedServer, answer, events

from fairlead.client import Client, ResourceType
from fairlead.client.informer import Informer
from fairlead.client.session import Answer, Request

PATIENCE = 20.0
CONFIG_MAPS = ResourceType("", "v1", "configmaps", "ConfigMap", True)
REFUSAL = answer({"kind": "Status", "code": 422, "reason": "Invalid"}, 422)


def _object(name: str, version: int, uid: str = "u") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "uid": uid, "resourceVersion": str(version)},
    }


def _end(version: int) -> tuple[str, dict[str, Any]]:
    annotations = {"k8s.io/initial-events-end": "true"}
    metadata = {"resourceVersion": str(version), "annotations": annotations}
    return "BOOKMARK", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}


def _listed(version: int, *items: dict[str, Any]) -> bytes:
    metadata = {"resourceVersion": str(version)}
    value = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": items}
    return answer(value)


async def _first(client: Client, count: int) -> list[str]:
    """The first events of a watch: type, name and version."""
    received: list[str] = []
    watch = client.of(CONFIG_MAPS).watch("n", in_stream=True)
    async with asyncio.timeout(PATIENCE), aclosing(watch.__aiter__()) as reported:
        while len(received) < count:
            type, value = await anext(reported)
            metadata = value["metadata"]
            received.append(f"{type} {metadata['name']} {metadata['resourceVersion']}")
    return received


def _received(script: ScriptedServer, count: int) -> list[str]:
    async def run() -> list[str]:
        async with script, script.client() as client:
            return await _first(client, count)

    return asyncio.run(run())


def test_one_request_lists_and_watches() -> None:
    later = ("MODIFIED", _object("a", 7))
    script = ScriptedServer(events(("ADDED", _object("a", 3)), _end(5), later))
    assert _received(script, 2) == ["ADDED a 3", "MODIFIED a 7"]
    assert len(script.seen) == 1
    assert "sendInitialEvents=true" in script.seen[0].line
    assert "resourceVersionMatch=NotOlderThan" in script.seen[0].line


def test_it_goes_on_behind_the_list() -> None:
    script = ScriptedServer(
        events(("ADDED", _object("a", 3)), _end(5)) + END,
        events(("ADDED", _object("b", 6))),
    )
    assert _received(script, 2) == ["ADDED a 3", "ADDED b 6"]
    assert "resourceVersion=5" in script.seen[1].line
    assert "sendInitialEvents" not in script.seen[1].line


def test_a_list_that_breaks_off_begins_again() -> None:
    script = ScriptedServer(
        Cut(events(("ADDED", _object("a", 9)))),
        events(("ADDED", _object("a", 9)), ("ADDED", _object("b", 2)), _end(10)),
    )
    assert _received(script, 2) == ["ADDED a 9", "ADDED b 2"]
    assert "sendInitialEvents" in script.seen[1].line


def test_what_the_server_has_forgotten_is_reported_as_the_difference() -> None:
    gone = {"kind": "Status", "code": 410, "reason": "Expired"}
    script = ScriptedServer(
        events(("ADDED", _object("a", 3)), ("ADDED", _object("b", 4)), _end(5), ("ERROR", gone)),
        events(("ADDED", _object("b", 8)), _end(9)),
    )
    assert _received(script, 4) == ["ADDED a 3", "ADDED b 4", "MODIFIED b 8", "DELETED a 3"]


@pytest.mark.parametrize(
    "refusal",
    [
        REFUSAL,
        answer({"kind": "Status", "code": 400, "reason": "BadRequest"}, 400),
        events(("ERROR", {"kind": "Status", "code": 500, "reason": "InternalError"})),
    ],
    ids=["invalid", "bad request", "error event"],
)
def test_a_server_that_cannot_do_it_is_asked_for_a_list(refusal: bytes) -> None:
    script = ScriptedServer(
        refusal, _listed(5, _object("a", 3)), events(("ADDED", _object("b", 6)))
    )
    assert _received(script, 2) == ["ADDED a 3", "ADDED b 6"]
    assert "limit=" in script.seen[1].line
    assert "resourceVersion=5" in script.seen[2].line


def test_a_server_that_refuses_is_not_asked_again() -> None:
    listed = _listed(5, _object("a", 3))
    script = ScriptedServer(REFUSAL, listed, events(("ADDED", _object("b", 6))), listed)

    async def run() -> None:
        async with script, script.client() as client:
            await _first(client, 2)
            assert await _first(client, 1) == ["ADDED a 3"]

    asyncio.run(run())
    assert [("sendInitialEvents" in request.line) for request in script.seen] == [
        True,
        False,
        False,
        False,
    ]


def _requests(space: Space) -> list[str]:
    """The queries with which an informer of a live server begins."""
    queries: list[str] = []

    async def run() -> None:
        async with connected(space.server) as client:
            secrets = await client.resource("secrets")
            opened = client.session.open

            def count(request: Request) -> AbstractAsyncContextManager[Answer]:
                queries.append(",".join(sorted(dict(request.query))))
                return opened(request)

            with mock.patch.object(client.session, "open", count):
                async with Informer(secrets, space.name) as informer:
                    await informer.synced(PATIENCE)
                    assert [item["metadata"]["name"] for item in informer.items()] == ["a"]

    space.secrets.create("a")
    asyncio.run(run())
    return queries


def test_an_informer_of_release_1_36_begins_with_one_request(space_1_36: Space) -> None:
    (query,) = _requests(space_1_36)
    assert "sendInitialEvents" in query


def test_an_informer_of_release_1_25_begins_with_a_list(kubernetes: Space) -> None:
    streamed, listed, *_ = _requests(kubernetes)
    assert "sendInitialEvents" in streamed
    assert listed == "limit"
