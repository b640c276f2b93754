"""Retries of requests: only where safe, and within the deadline."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.scripted import Cut, ScriptedReply, ScriptedServer, answer

from fairlead.client import Access, ApiError, Client, Unreachable
from fairlead.client.access.model import Proof
from fairlead.client.errors import TooManyRequests, Unauthorized
from fairlead.wire.outgoing.client_config import ClientConfig

SOON = "Retry-After: 0\r\n"
DONE = answer(b"done")


def run(script: ScriptedServer, method: str = "GET", **parts: Any) -> bytes:
    async def scenario() -> bytes:
        async with script, script.client() as client, asyncio.timeout(20):
            return await client.raw(method, "/x", **parts)

    return asyncio.run(scenario())


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("code", [429, 500, 503])
def test_what_the_server_wants_again_is_sent_again(method: str, code: int) -> None:
    script = ScriptedServer(answer({}, code, SOON), DONE)
    assert run(script, method, body=b"{}") == b"done"
    assert [response.body for response in script.seen] == [b"{}", b"{}"]


@pytest.mark.parametrize(
    "message",
    [
        answer({}, 429),
        answer({}, 500),
        answer({}, 409, SOON),
        answer({}, 429, "Retry-After: x\r\n"),
    ],
)
def test_what_it_does_not_want_again_is_not(message: ScriptedReply) -> None:
    script = ScriptedServer(message, DONE)
    with pytest.raises(ApiError):
        run(script)
    assert len(script.seen) == 1


def test_it_is_not_asked_for_ever() -> None:
    script = ScriptedServer(answer({}, 503, SOON))
    with pytest.raises(ApiError):
        run(script)
    assert len(script.seen) == 10


def test_a_pause_that_is_longer_than_the_time_left_is_not_begun() -> None:
    script = ScriptedServer(answer({}, 429, "Retry-After: 9\r\n"), DONE)
    with pytest.raises(TooManyRequests) as caught:
        run(script, timeout=5.0)
    assert caught.value.retry_after == 9
    assert len(script.seen) == 1


def test_a_pause_is_no_longer_than_is_reasonable(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    script = ScriptedServer(answer({}, 429, "Retry-After: 99999999\r\n"), DONE)
    monkeypatch.setattr("fairlead.client.session.asyncio.sleep", noted)
    assert run(script, timeout=None) == b"done"
    assert 30 <= max(pauses) < 31


@pytest.mark.parametrize("cut", [Cut(), Cut(b"HTTP/1.1 200 OK\r\n")])
def test_a_read_whose_connection_is_lost_is_asked_again(cut: ScriptedReply) -> None:
    assert run(ScriptedServer(cut, DONE)) == b"done"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("before", [(), (DONE,)], ids=["new", "used"])
def test_a_write_whose_connection_is_lost_is_not_sent_again(
    method: str, before: tuple[ScriptedReply, ...]
) -> None:
    script = ScriptedServer(*before, Cut(), DONE)

    async def scenario() -> None:
        async with script, script.client() as client:
            for _ in before:
                await client.raw("GET", "/x")
            with pytest.raises(Unreachable) as caught:
                await client.raw(method, "/x", body=b"{}")
            assert caught.value.sent

    asyncio.run(scenario())
    assert [seen.line.split()[0] for seen in script.seen[len(before) :]] == [method]


def test_a_connection_that_was_closed_while_idle_is_not_used_for_a_write() -> None:
    async def scenario() -> bytes:
        script = ScriptedServer(Cut(answer(b"one")), DONE)
        async with script, script.client() as client:
            await client.raw("GET", "/x")
            await asyncio.sleep(0.05)  # until the end of the connection has come
            return await client.raw("POST", "/x", body=b"{}")

    assert asyncio.run(scenario()) == b"done"


class Renewing:
    """Credentials that have another token when one was refused."""

    def __init__(self, tokens: int) -> None:
        self.number, self._tokens = 1, tokens

    async def proof(self) -> Proof:
        return Proof(f"Bearer {self.number}")

    def refused(self, proof: Proof) -> bool:
        if self.number < self._tokens:
            self.number += 1
            return True
        return False


@pytest.mark.parametrize(("tokens", "requested"), [(1, 1), (2, 2), (9, 2)])
def test_credentials_that_are_refused_are_renewed_once(tokens: int, requested: int) -> None:
    script = ScriptedServer(answer({}, 401))

    async def scenario() -> None:
        async with script:
            access = Access(ClientConfig(script.url), Renewing(tokens))
            async with Client(access) as client:
                await client.raw("POST", "/x")

    with pytest.raises(Unauthorized):
        asyncio.run(scenario())
    authorizations = [seen.headers["authorization"] for seen in script.seen]
    assert authorizations == ["Bearer 1", "Bearer 2"][:requested]
