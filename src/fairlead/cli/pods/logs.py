"""The log of a container."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple

from fairlead.base.terminal import write_bytes
from fairlead.cli.invocation import Invocation
from fairlead.client import Resource
from fairlead.client.session import Request


class LogStream(NamedTuple):
    """The log of one container."""

    pods: Resource
    namespace: str
    pod: str
    container: str

    @property
    def title(self) -> str:
        return f"pod/{self.pod}/{self.container}"

    async def pieces(self, query: Mapping[str, Any]) -> AsyncGenerator[bytes, None]:
        """Yield the log in chunks as they arrive; raises ApiError and Unreachable."""
        path = self.pods.path(self.pod, self.namespace, "log")
        parameters = {**query, "container": self.container}
        request = Request("GET", path, parameters, accept="*/*")
        async with self.pods.session.open(request) as answer, aclosing(answer.pieces()) as pieces:
            async for piece in pieces:
                yield piece

    async def print(self, invocation: Invocation) -> None:
        """Print the log until the container ends. Raises ApiError and Unreachable."""
        async with aclosing(self.pieces({"follow": True})) as pieces:
            async for piece in pieces:
                write_bytes(invocation.screen.out, piece)
