"""Leader election over the network: the candidate reads and writes the Lease with requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fairlead.base.election import Election, LeaseAccess, Pace
from fairlead.client.access.model import AccessError
from fairlead.client.errors import ApiError, NotFound, Unreachable
from fairlead.client.resources import Object, Resource

__all__ = ["LeaderElection", "Pace"]


class _RemoteLease(LeaseAccess):
    errors = (AccessError, ApiError, Unreachable)

    def __init__(self, leases: Resource, namespace: str, name: str) -> None:
        super().__init__(namespace, name)
        self._leases = leases

    async def read(self) -> Object | None:
        try:
            return await self._leases.get(self.name, self.namespace)
        except NotFound:
            return None

    async def write(self, lease: Object | None, spec: Object) -> Object:
        if lease is not None:
            return await self._leases.replace({**lease, "spec": spec}, self.namespace)
        type = self._leases.type
        new = {
            "apiVersion": type.api_version,
            "kind": type.kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": spec,
        }
        return await self._leases.create(new, self.namespace)


class LeaderElection(Election):
    """A candidate for the Lease `name`; `identity` must be unique. Does not trust other clocks: a
    lease expires when it was observed unchanged for its duration.

    `lead` runs while leading and is cancelled at the end; it may return early without giving up
    leadership. `stopped` is called after leading, `new_leader` whenever the observed leader
    changes, even to this candidate.
    """

    def __init__(
        self,
        leases: Resource,
        name: str,
        namespace: str,
        identity: str,
        lead: Callable[[], Awaitable[None]],
        *,
        stopped: Callable[[], None] | None = None,
        new_leader: Callable[[str], None] | None = None,
        pace: Pace | None = None,
    ) -> None:
        super().__init__(
            _RemoteLease(leases, namespace, name),
            identity,
            lead,
            stopped=stopped,
            new_leader=new_leader,
            pace=pace,
        )
