"""Connections to node agents (kubelets), pods, and pods of services.

Their addresses come from objects that users write, so each is checked before it is reached.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

from fairlead.wire.outgoing.addresses import AddressPolicy
from fairlead.wire.outgoing.connection import Connection
from fairlead.wire.outgoing.dialer import SECONDS_TO_CONNECT
from fairlead.wire.outgoing.pool import Pool
from fairlead.wire.outgoing.request import Route, encode_head
from fairlead.wire.outgoing.response import CallError
from fairlead.wire.outgoing.tls import unchecked

_SECONDS_TO_ANSWER = 60.0

T = TypeVar("T")


class ClusterTarget(NamedTuple):
    """A target in the cluster. `agent`: it is a node agent (kubelet), which gets our client
    certificate; with `checked`, its own certificate is verified."""

    host: str
    port: int
    scheme: str = "http"
    agent: bool = False
    checked: bool = True

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self}"


class ClusterDialer:
    """Opens connections into the cluster. `agent_tls` is the context for node agents,
    `trusting_tls` for node agents that are not checked. Pods are reached by address and have no
    certificate that could be verified."""

    def __init__(
        self,
        policy: AddressPolicy | None = None,
        agent_tls: ssl.SSLContext | None = None,
        trusting_tls: ssl.SSLContext | None = None,
    ) -> None:
        self._policy = policy or AddressPolicy()
        self._agent_tls = agent_tls
        self._trusting_tls = trusting_tls
        self._unchecked: ssl.SSLContext | None = None
        self.pool = Pool()

    async def call_first_reachable(
        self, target: ClusterTarget, call: Callable[[Route], Awaitable[T]]
    ) -> T:
        """Run a call against the first reachable address of a target. Raises NotAllowed, or
        CallError with the message of a dialer."""
        failure = CallError("there is no address")
        for address in await self.addresses(target):
            try:
                tls = self._tls(target)
                return await call(Route(address, target.port, target.host, tls))
            except CallError as error:
                failure = error
                if not error.unreached:
                    raise
        raise failure

    async def open(self, target: ClusterTarget, path: str) -> Connection:
        """Send a GET and return once the head of the response has arrived; the caller must
        release the connection. Raises as `call_first_reachable`. `path` is encoded and may have a
        query."""

        def get(route: Route) -> Awaitable[Connection]:
            head = encode_head("GET", path.encode(), [(b"host", str(route).encode())])
            return self.pool.request(route, b"GET", head)

        try:
            async with asyncio.timeout(_SECONDS_TO_ANSWER):
                return await self.call_first_reachable(target, get)
        except TimeoutError:
            reason = f"no answer within {_SECONDS_TO_ANSWER:g}s"
            raise CallError(reason, retryable=True) from None

    async def addresses(self, target: ClusterTarget) -> Sequence[str]:
        """Resolve a target to allowed addresses. Raises NotAllowed or CallError."""
        try:
            async with asyncio.timeout(SECONDS_TO_CONNECT):
                return await self._policy.resolve(target.host, target.port)
        except TimeoutError:
            raise CallError(f"dial tcp: lookup {target.host}: i/o timeout") from None
        except OSError:
            raise CallError(f"dial tcp: lookup {target.host}: no such host") from None

    def _tls(self, target: ClusterTarget) -> ssl.SSLContext | None:
        if target.scheme != "https":
            return None
        agent_tls = self._agent_tls if target.checked else self._trusting_tls
        if target.agent and agent_tls is not None:
            return agent_tls
        if self._unchecked is None:
            self._unchecked = unchecked()
        return self._unchecked

    async def close(self) -> None:
        self.pool.close()
