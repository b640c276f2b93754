"""The simulated nodes of a server and their state."""

from __future__ import annotations

from fairlead.auth.authentication.user import MASTERS, User, with_authenticated_group
from fairlead.auth.authorization.node import NODE_PREFIX, NODES_GROUP
from fairlead.base.dialect import Dialect
from fairlead.controllers.simulation.node_behaviour import (
    HEALTHY,
    NOT_READY,
    OF_NODES,
    READY,
    NodeBehaviour,
    node_behaviour,
)
from fairlead.operations.api import Api
from fairlead.operations.client import Client
from fairlead.storage.version import Version


class SimulatedNodes:
    """Nodes are numbered from 0. `privileged`: the node authorizer is off, so the agents' users
    need all rights."""

    def __init__(self, api: Api, count: int, *, privileged: bool) -> None:
        self._nodes = api.collection(api.resources.named(NODES))
        self.numbers = {name: number for number, name in enumerate(node_names(count))}
        manager = api.dialect.node_agent
        self._clients = {
            name: Client(api, node_user(name, privileged=privileged), manager)
            for name in self.numbers
        }
        self._parsed: dict[str, tuple[Version, NodeBehaviour]] = {}

    def __contains__(self, name: object) -> bool:
        return name in self.numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def client(self, name: str) -> Client:
        """An API client with the user of a node's agent."""
        return self._clients[name]

    def version(self, name: str) -> Version | None:
        """The current version of a node."""
        return self._nodes.get(name)

    def behaviour(self, name: str) -> NodeBehaviour | None:
        """What a node simulates; None if it is not registered."""
        version = self._nodes.get(name)
        if version is None:
            return None
        known = self._parsed.get(name)
        if known is None or known[0] is not version:
            behaviour = HEALTHY
            if has_behaviour(version):
                behaviour = node_behaviour(version.object()["metadata"].get("annotations"))
            known = self._parsed[name] = version, behaviour
        return known[1]

    def answers(self, name: str) -> bool:
        """Whether a node is registered and not silent."""
        behaviour = self.behaviour(name)
        return behaviour is not None and behaviour.state in (READY, NOT_READY)


def has_behaviour(version: Version) -> bool:
    """Whether a node may have annotations of the simulation."""
    return any(version.mentions(key) for key in OF_NODES)


# Names and users shared by the parts of the simulation.

PODS, NODES, LEASES = "core/v1/pods", "core/v1/nodes", "coordination/v1/leases"
CSI_NODES = "storage/v1/csinodes"
SCHEDULER = "default-scheduler"


def node_names(count: int) -> tuple[str, ...]:
    return tuple(f"simulated-{number}" for number in range(count))


def scheduler_user(dialect: Dialect, *, privileged: bool) -> User:
    """The scheduler's user, with the rights of its bootstrap role. `privileged` if the authorizer
    ignores roles."""
    return _user(f"system:{dialect.system_prefix}-scheduler", (), privileged)


def node_user(name: str, *, privileged: bool) -> User:
    """The user of a node's agent. `privileged` if the node authorizer is off."""
    return _user(f"{NODE_PREFIX}{name}", (NODES_GROUP,), privileged)


def _user(name: str, groups: tuple[str, ...], privileged: bool) -> User:
    return with_authenticated_group(User(name, "", (*groups, MASTERS) if privileged else groups))
