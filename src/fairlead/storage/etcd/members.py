"""The members of an etcd cluster."""

from __future__ import annotations

from fairlead.storage.etcd.messages import WATCH
from fairlead.wire.grpc.calls import Stream
from fairlead.wire.grpc.channel import Channel, Trust

# With `hasleader`, a member without a leader rejects calls at once and ends watches.
_METADATA = (("hasleader", "true"),)
_PORT = 2379


class Member(Channel):
    """A member of a cluster. `is_mistrusted`: one side rejected the other's certificate when it was
    probed last."""

    def __init__(self, url: str, trust: Trust) -> None:
        super().__init__(url, trust, _METADATA, _PORT)
        self.is_mistrusted = False

    async def watch(self, request: bytes, timeout: float) -> Stream:
        """Start a watch stream with one request; raises CallFailed."""
        return await self.stream(WATCH, request, timeout)
