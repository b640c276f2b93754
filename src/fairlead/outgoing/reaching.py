"""Conversations with what runs in the cluster: the agents of nodes, pods, and pods of services.

Their addresses stand in objects that users write, so each is judged before it is reached.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.outgoing.addresses import AddressPolicy
from fairlead.outgoing.client import SECONDS_TO_CONNECT, Caller, CallError, Headers, Stream, reason

_SECONDS_TO_ANSWER = 60.0


@dataclass(frozen=True, slots=True)
class Place:
    """An address to talk to. `agent`: it is the agent of a node, to which we prove ourselves."""

    host: str
    port: int
    scheme: str = "http"
    agent: bool = False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self}"


class Reach:
    """`agent_tls` is how agents of nodes are spoken to. Pods are reached by address and have no
    certificate that could be checked."""

    def __init__(
        self, policy: AddressPolicy | None = None, agent_tls: ssl.SSLContext | None = None
    ) -> None:
        self._policy = policy or AddressPolicy()
        self._agent_tls = agent_tls
        self._unchecked: ssl.SSLContext | None = None
        self._caller = Caller(as_is=True)

    async def open(
        self, place: Place, method: str, path: str, headers: Headers, body: bytes | None = None
    ) -> Stream:
        """An answer of the place as soon as its head is there. Raises NotAllowed, or CallError
        with what a dialer would say. `path` is encoded and may have a query."""
        failure = CallError("there is no address")
        for address in await self._addresses(place):
            try:
                return await self._caller.open(
                    method,
                    f"{Place(address, place.port, place.scheme).url}{path}",
                    timeout=_SECONDS_TO_ANSWER,
                    headers=headers,
                    body=body,
                    tls=self._tls(place),
                    server_name=place.host if place.scheme == "https" else "",
                )
            except CallError as error:
                failure = error
                if not error.unreached:
                    raise
        raise CallError(f"dial tcp {place}: connect: {failure}", retryable=True)

    async def check(self, place: Place) -> None:
        """Find out whether something listens at a place; raises as `open` does."""
        why = ""
        for address in await self._addresses(place):
            try:
                opened = asyncio.open_connection(address, place.port)
                _, writer = await asyncio.wait_for(opened, SECONDS_TO_CONNECT)
            except OSError as error:
                why = reason(error)
                continue
            writer.close()
            return
        raise CallError(f"dial tcp {place}: connect: {why}", retryable=True)

    async def _addresses(self, place: Place) -> Sequence[str]:
        try:
            async with asyncio.timeout(SECONDS_TO_CONNECT):
                return await self._policy.resolve(place.host, place.port)
        except TimeoutError:
            raise CallError(f"dial tcp: lookup {place.host}: i/o timeout") from None
        except OSError:
            raise CallError(f"dial tcp: lookup {place.host}: no such host") from None

    def _tls(self, place: Place) -> ssl.SSLContext | None:
        if place.scheme != "https":
            return None
        if place.agent and self._agent_tls is not None:
            return self._agent_tls
        if self._unchecked is None:
            self._unchecked = ssl.create_default_context()
            self._unchecked.check_hostname = False
            self._unchecked.verify_mode = ssl.CERT_NONE
        return self._unchecked

    async def close(self) -> None:
        await self._caller.close()
