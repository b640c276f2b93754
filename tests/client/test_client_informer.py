"""Informers hold the objects of the server, and call handlers once for each change."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from support.connected import FreshServer, connected
from support.namespaces import Space

from fairlead.client import Client, ResourceType
from fairlead.client.informer import Informer

Object = dict[str, Any]
PATIENCE = 15.0


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


class Notes:
    """A handler that writes down what it is told."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def added(self, value: Object) -> None:
        self.events.append(f"+{value['metadata']['name']}")

    async def updated(self, before: Object, now: Object) -> None:
        self.events.append(f"~{now['metadata']['name']}")

    def deleted(self, value: Object) -> None:
        self.events.append(f"-{value['metadata']['name']}")

    def on(self, informer: Informer) -> Notes:
        informer.handle(added=self.added, updated=self.updated, deleted=self.deleted)
        return self

    async def heard(self, *words: str) -> None:
        await until(lambda: len(self.events) >= len(words))
        assert tuple(self.events) == words


def colours(value: Object) -> list[str]:
    return [value["metadata"]["labels"]["color"]]


async def secrets(client: Client, space: Space, **choices: Any) -> Informer:
    return Informer(await client.resource("secrets"), space.name, **choices)


@pytest.mark.both_dialects
def test_the_cache_follows_the_server(space: Space) -> None:
    space.secrets.create("a", labels={"color": "red"})

    async def scenario() -> None:
        async with (
            connected(space.server) as client,
            await secrets(client, space, indexes={"color": colours}) as informer,
        ):
            notes = Notes().on(informer)
            await informer.synced(PATIENCE)
            assert [item["metadata"]["name"] for item in informer.items()] == ["a"]
            space.secrets.create("b", labels={"color": "red"})
            await notes.heard("+a", "+b")
            space.secrets.create("no-color")
            space.secrets.label("a", color="blue")
            space.secrets.remove("b")
            await notes.heard("+a", "+b", "+no-color", "~a", "-b")
            value = informer.get(f"{space.name}/a")
            assert value is not None
            assert value["metadata"]["labels"] == {"color": "blue"}
            assert informer.get(f"{space.name}/b") is None
            assert informer.by_index("color", "blue") == [value]
            assert informer.by_index("color", "red") == []
            with pytest.raises(KeyError):
                informer.by_index("size", "large")

    asyncio.run(scenario())


def test_a_handler_that_comes_later_is_told_of_what_is_there(kubernetes: Space) -> None:
    kubernetes.secrets.create_all("a", "b")

    async def scenario() -> None:
        async with (
            connected(kubernetes.server) as client,
            await secrets(client, kubernetes) as informer,
        ):
            await informer.synced(PATIENCE)
            await Notes().on(informer).heard("+a", "+b")

    asyncio.run(scenario())


def test_a_handler_that_fails_or_is_slow_does_not_hold_others_up(
    kubernetes: Space, caplog: pytest.LogCaptureFixture
) -> None:
    kubernetes.secrets.create("a")

    async def scenario() -> None:
        async with (
            connected(kubernetes.server) as client,
            await secrets(client, kubernetes) as informer,
        ):
            going, slow = asyncio.Event(), Notes()

            async def wait(value: Object) -> None:
                slow.added(value)
                await going.wait()

            def fail(value: Object) -> None:
                raise ValueError("of the handler")

            informer.handle(added=wait, updated=slow.updated, deleted=slow.deleted)
            informer.handle(added=fail)
            notes = Notes().on(informer)
            await until(lambda: slow.events == ["+a"])
            kubernetes.secrets.create_all("b", "c")
            await notes.heard("+a", "+b", "+c")
            for color in ("red", "blue"):
                kubernetes.secrets.label("a", color=color)
                await until(lambda: notes.events[-1] == "~a")
            kubernetes.secrets.remove("b")
            await until(lambda: notes.events[-1] == "-b")
            going.set()
            await until(lambda: len(slow.events) == 3)
            # What came and went meanwhile is not told.
            assert sorted(slow.events) == ["+a", "+c", "~a"]

    with caplog.at_level(logging.ERROR):
        asyncio.run(scenario())
    assert "of the handler" in caplog.text


def test_everything_is_told_again_where_that_is_wanted(kubernetes: Space) -> None:
    kubernetes.secrets.create("a")

    async def scenario() -> None:
        async with (
            connected(kubernetes.server) as client,
            await secrets(client, kubernetes, resync=0.05) as informer,
        ):
            notes = Notes().on(informer)
            await until(lambda: notes.events[:3] == ["+a", "~a", "~a"])

    asyncio.run(scenario())


def test_an_informer_that_may_not_look_says_why_and_tries_again(kubernetes: Space) -> None:
    async def scenario() -> None:
        async with connected(kubernetes.server) as client:
            missing = client.of(ResourceType("", "v1", "nothings", "Nothing", True))
            async with Informer(missing, kubernetes.name) as informer:
                await until(lambda: informer.trouble is not None)
                with pytest.raises(TimeoutError):
                    await informer.synced(0.01)

    asyncio.run(scenario())


def test_nothing_is_missed_or_told_twice_when_the_server_is_killed_and_has_forgotten(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server("--history-retention=1s")
    server.flags = ("--history-retention=1s", "--secure-port", server.address.rpartition(":")[2])
    space = Space(server, server.client())
    path = f"/api/v1/namespaces/{space.name}/secrets"

    async def scenario() -> None:
        async with connected(server) as client, await secrets(client, space) as informer:
            notes = Notes().on(informer)
            space.secrets.create_all("stays", "changes", "goes")
            await until(lambda: len(notes.events) == 3)
            server.kill()
            server.start()
            again = server.client()
            for body in ({"metadata": {"name": "comes"}}, {"metadata": {"name": "passes"}}):
                assert again.post(path, body).status == 201
            assert again.patch(f"{path}/changes", {"data": {"a": "YQ=="}}).status == 200
            for name in ("goes", "passes"):
                assert again.delete(f"{path}/{name}").status == 200
            listed = again.get(path).body["items"]
            await until(lambda: "-goes" in notes.events and "+comes" in notes.events)
            now = {item["metadata"]["name"]: item["metadata"] for item in listed}
            held = {item["metadata"]["name"]: item["metadata"] for item in informer.items()}
            assert {name: item["resourceVersion"] for name, item in held.items()} == {
                name: item["resourceVersion"] for name, item in now.items()
            }
            later = set(notes.events[3:]) - {"+passes", "-passes"}
            assert later == {"~changes", "-goes", "+comes"}
            assert len(notes.events) == len(set(notes.events))

    asyncio.run(asyncio.wait_for(scenario(), 60))
