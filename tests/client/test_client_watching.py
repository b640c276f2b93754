"""Watches yield each change once, after any failure of the connection or the server."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from support.connected import connected
from support.namespaces import Space
from support.scripted import (
    END,
    Cut,
    ScriptedReply,
    ScriptedServer,
    SeenRequest,
    answer,
    chunks,
    events,
)

from fairlead.client import Client, Resource, ResourceType
from fairlead.client.errors import Expired, Forbidden, NotFound, Unreachable
from fairlead.client.resources import TABLE
from fairlead.client.watch import Watch

Received = tuple[str, str, str]
PATIENCE = 20.0
CONFIG_MAPS = ResourceType("", "v1", "configmaps", "ConfigMap", True)


def watched_object(name: str, version: int, uid: str = "u") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "uid": uid, "resourceVersion": str(version)},
    }


def listed(version: int, *items: dict[str, Any]) -> bytes:
    metadata = {"resourceVersion": str(version)}
    return answer(
        {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": items}
    )


def status(code: int, reason: str, **more: Any) -> dict[str, Any]:
    return {"kind": "Status", "code": code, "reason": reason, "message": reason, **more}


async def quiet(writer: asyncio.StreamWriter) -> None:
    """A watch to which nothing happens."""
    writer.write(events())
    await asyncio.sleep(PATIENCE)


async def first(watch: Watch, count: int) -> list[Received]:
    """What is told first: type, name and version."""
    received: list[Received] = []
    async with asyncio.timeout(PATIENCE), aclosing(watch.__aiter__()) as reported:
        while len(received) < count:
            type, value = await anext(reported)
            metadata = value["metadata"]
            received.append((type, metadata["name"], metadata["resourceVersion"]))
    return received


async def received_from(script: ScriptedServer, count: int, **choices: Any) -> list[Received]:
    async with script, script.client() as client:
        return await first(client.of(CONFIG_MAPS).watch("n", **choices), count)


def test_a_watch_begins_with_what_is_there() -> None:
    script = ScriptedServer(
        listed(5, watched_object("a", 3)), events(("ADDED", watched_object("b", 6)))
    )
    assert asyncio.run(received_from(script, 2)) == [("ADDED", "a", "3"), ("ADDED", "b", "6")]
    assert "resourceVersion=5&" in script.seen[1].line
    assert "allowWatchBookmarks=true" in script.seen[1].line


def test_a_watch_since_a_list_tells_only_what_came_after() -> None:
    script = ScriptedServer(events(("MODIFIED", watched_object("a", 6))))
    since = {"metadata": {"resourceVersion": "5"}, "items": [watched_object("a", 3)]}
    assert asyncio.run(received_from(script, 1, since=since)) == [("MODIFIED", "a", "6")]


@pytest.mark.parametrize("end", [END, b"", b'5\r\n{"ty'], ids=["ended", "cut", "cut in a line"])
def test_it_goes_on_behind_the_last_change_or_bookmark(end: bytes) -> None:
    script = ScriptedServer(
        listed(5),
        Cut(events(("ADDED", watched_object("a", 6)), ("BOOKMARK", watched_object("", 9))) + end),
        events(("MODIFIED", watched_object("a", 10))),
    )
    assert asyncio.run(received_from(script, 2)) == [("ADDED", "a", "6"), ("MODIFIED", "a", "10")]
    assert "resourceVersion=9&" in script.seen[2].line


def test_what_the_server_has_forgotten_is_told_as_the_difference() -> None:
    script = ScriptedServer(
        listed(
            5,
            watched_object("same", 1),
            watched_object("changed", 2),
            watched_object("gone", 3),
            watched_object("again", 4, "old"),
        ),
        events(("ERROR", status(410, "Expired"))),
        listed(
            9,
            watched_object("same", 1),
            watched_object("changed", 7),
            watched_object("again", 8, "new"),
            watched_object("new", 9),
        ),
        events(("DELETED", watched_object("new", 10))),
    )
    assert asyncio.run(received_from(script, 10))[4:] == [
        ("MODIFIED", "changed", "7"),
        ("DELETED", "again", "4"),
        ("ADDED", "again", "8"),
        ("ADDED", "new", "9"),
        ("DELETED", "gone", "3"),
        ("DELETED", "new", "10"),
    ]
    assert "limit=500" in script.seen[2].line


def test_an_answer_that_says_gone_is_the_same_as_an_event() -> None:
    script = ScriptedServer(
        listed(5, watched_object("a", 1)), answer(status(410, "Gone"), 410), listed(6), events()
    )
    assert asyncio.run(received_from(script, 2)) == [("ADDED", "a", "1"), ("DELETED", "a", "1")]


def test_a_version_that_the_server_has_not_come_to_is_listed_again() -> None:
    details = {"causes": [{"reason": "ResourceVersionTooLarge"}]}
    ahead = answer(status(504, "Timeout", details=details), 504)
    script = ScriptedServer(listed(50, watched_object("a", 1)), ahead, listed(6), events())
    assert asyncio.run(received_from(script, 2))[1] == ("DELETED", "a", "1")


def test_a_list_whose_next_page_expires_is_asked_for_in_one_piece() -> None:
    page = {
        "metadata": {"resourceVersion": "5", "continue": "more"},
        "items": [watched_object("a", 1)],
    }
    script = ScriptedServer(
        answer(page),
        answer(status(410, "Expired"), 410),
        listed(6, watched_object("a", 1), watched_object("b", 6)),
        quiet,
    )
    assert asyncio.run(received_from(script, 2)) == [("ADDED", "a", "1"), ("ADDED", "b", "6")]
    assert "limit=500" in script.seen[0].line
    assert "limit" not in script.seen[2].line


def test_a_server_without_versions_of_lists_tells_nothing_twice() -> None:
    without = answer({"kind": "ConfigMapList", "metadata": {}, "items": [watched_object("a", 1)]})
    begin = events(("ADDED", watched_object("a", 1)), ("ADDED", watched_object("b", 2)))
    script = ScriptedServer(without, Cut(begin), events(("ADDED", watched_object("b", 3))))
    assert asyncio.run(received_from(script, 3)) == [
        ("ADDED", "a", "1"),
        ("ADDED", "b", "2"),
        ("MODIFIED", "b", "3"),
    ]


@pytest.mark.parametrize("items", [[1], [{}], [{"metadata": {}}], "ab", {"a": 1}])
def test_a_list_that_is_none_is_said_to_be_so(items: Any) -> None:
    script = ScriptedServer(answer({"metadata": {"resourceVersion": "5"}, "items": items}))
    with pytest.raises(Unreachable, match="malformed list"):
        asyncio.run(received_from(script, 1))


def test_a_bare_version_that_is_forgotten_is_for_the_caller_to_handle() -> None:
    script = ScriptedServer(
        events(("ADDED", watched_object("a", 6)), ("ERROR", status(410, "Expired")))
    )
    with pytest.raises(Expired):
        asyncio.run(received_from(script, 2, since="5"))


@pytest.mark.parametrize(
    "trouble",
    [
        answer(status(500, "InternalError"), 500),
        answer(status(429, "TooManyRequests"), 429),
        events(("ERROR", status(500, "InternalError"))),
        Cut(),
        Cut(b"HTTP/1.1 200 OK\r\nTransfer-Enc"),
        events() + chunks(b"no event at all\n"),
        events() + chunks(b"[]\n"),
        b"no HTTP at all\r\n\r\n",
    ],
)
def test_trouble_that_may_pass_does_not_end_it(trouble: Any) -> None:
    watches = iter([trouble, trouble, events(("DELETED", watched_object("a", 7)))])

    def reply(seen: SeenRequest) -> ScriptedReply:
        return next(watches) if "watch=true" in seen.line else listed(5, watched_object("a", 1))

    assert asyncio.run(received_from(ScriptedServer(reply=reply), 2)) == [
        ("ADDED", "a", "1"),
        ("DELETED", "a", "7"),
    ]


def test_a_server_that_is_back_and_has_forgotten_is_listed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        if seconds:  # others let each other go first
            pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr("fairlead.client.watch.asyncio.sleep", noted)
    troubles = [Cut()] * 40 + [answer(status(410, "Expired"), 410)]
    watches = iter([*troubles, events(("DELETED", watched_object("b", 7)))])
    lists = iter(
        [
            listed(5, watched_object("a", 1)),
            listed(6, watched_object("a", 1), watched_object("b", 6)),
        ]
    )

    def reply(seen: SeenRequest) -> ScriptedReply:
        return next(watches) if "watch=true" in seen.line else next(lists)

    assert len(asyncio.run(received_from(ScriptedServer(reply=reply), 3))) == 3
    assert max(pauses) > 1
    assert pauses[-1] < 0.2


@pytest.mark.parametrize(
    ("code", "reason", "kind"), [(403, "Forbidden", Forbidden), (404, "NotFound", NotFound)]
)
def test_what_will_not_pass_is_raised(code: int, reason: str, kind: type[Exception]) -> None:
    script = ScriptedServer(listed(5), answer(status(code, reason), code))
    with pytest.raises(kind):
        asyncio.run(received_from(script, 1))


def test_a_server_that_is_not_there_is_told_at_once() -> None:
    with pytest.raises(Unreachable):
        asyncio.run(received_from(ScriptedServer(Cut()), 1))


def test_it_ends_with_its_timeout() -> None:
    async def scenario() -> list[str]:
        script = ScriptedServer(listed(5, watched_object("a", 1)), quiet)
        async with script, script.client() as client:
            watch = client.of(CONFIG_MAPS).watch("n", timeout=0.2)
            return [event.type async for event in watch]

    assert asyncio.run(scenario()) == ["ADDED"]


def test_one_that_is_left_early_gives_its_connection_up() -> None:
    async def scenario() -> None:
        script = ScriptedServer(events(("ADDED", watched_object("a", 6))), answer({}))
        async with script, script.client() as client:
            async for _ in client.of(CONFIG_MAPS).watch("n", since="5"):
                break
            await client.raw("GET", "/x")
            assert script.seen[1].connection != script.seen[0].connection

    asyncio.run(scenario())


async def secrets_of(client: Client) -> Resource:
    return await client.resource("secrets")


@pytest.mark.both_dialects
def test_a_watch_of_a_live_server(space: Space) -> None:
    space.secrets.create("before")

    async def scenario() -> list[tuple[str, str]]:
        async with connected(space.server) as client:
            received = aiter(
                (await secrets_of(client)).watch(space.name, labelSelector="not!=this")
            )
            results = [await anext(received)]
            space.secrets.create("later")
            space.secrets.label("later", color="red")
            space.secrets.label("later", **{"not": "this"})
            results += [await anext(received) for _ in range(3)]
            await received.aclose()
            assert all(event.object["kind"] == "Secret" for event in results)
            return [(event.type, event.object["metadata"]["name"]) for event in results]

    assert asyncio.run(asyncio.wait_for(scenario(), PATIENCE)) == [
        ("ADDED", "before"),
        ("ADDED", "later"),
        ("MODIFIED", "later"),
        ("DELETED", "later"),
    ]


def test_one_object_can_be_watched_as_rows_of_a_table(space: Space) -> None:
    space.secrets.create_all("other", "this")

    async def scenario() -> None:
        async with connected(space.server) as client:
            secrets = await secrets_of(client)
            received = aiter(secrets.watch(space.name, name="this", accept=TABLE))
            added = await anext(received)
            space.secrets.remove("other")
            space.secrets.remove("this")
            deleted = await anext(received)
            await received.aclose()
        assert (added.type, deleted.type) == ("ADDED", "DELETED")
        assert [row["cells"][0] for row in added.object["rows"]] == ["this"]
        assert [row["cells"][0] for row in deleted.object["rows"]] == ["this"]
        assert added.object["columnDefinitions"][0]["name"] == "Name"

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE))
