"""The simulated nodes of a server: who they are, and in what state."""

from __future__ import annotations

from fairlead.auth.authentication.user import MASTERS, User, with_authenticated_group
from fairlead.auth.authorization.node import NODE_PREFIX, NODES_GROUP
from fairlead.base.dialect import Dialect
from fairlead.controllers.simulation.behaviour import NODE_STATE, READY, BehaviourError, node_state
from fairlead.operations.api import Api
from fairlead.operations.client import Client

STATE_MARK = NODE_STATE.encode()
GONE = "gone"


class Fleet:
    """Numbered from 0. `privileged`: nodes have no rights of their own here, so that their agents
    must be allowed everything."""

    def __init__(self, api: Api, count: int, *, privileged: bool) -> None:
        self._nodes = api.collection(api.resources.named(NODES))
        self.numbers = {name: number for number, name in enumerate(node_names(count))}
        manager = api.dialect.node_agent
        self._clients = {
            name: Client(api, node_user(name, privileged=privileged), manager)
            for name in self.numbers
        }

    def __contains__(self, name: object) -> bool:
        return name in self.numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def client(self, name: str) -> Client:
        """The API as the agent of a node."""
        return self._clients[name]

    def state(self, name: str) -> str:
        """The state that a node shall simulate, or GONE if nobody has registered it."""
        version = self._nodes.get(name)
        if version is None or version.body is None:
            return GONE
        if STATE_MARK not in version.body:
            return READY
        try:
            return node_state(version.object()["metadata"].get("annotations"))
        except BehaviourError:  # who keeps the node says so
            return READY


# The words that the parts of the simulation share.

PODS, NODES, LEASES = "core/v1/pods", "core/v1/nodes", "coordination/v1/leases"
SCHEDULER = "default-scheduler"
MOST_NODES = 5_000


def node_names(count: int) -> tuple[str, ...]:
    return tuple(f"simulated-{number}" for number in range(count))


def scheduler_user(dialect: Dialect, *, privileged: bool) -> User:
    """The user that the scheduler acts as, with the rights of its bootstrap role. Where roles
    decide nothing it has to be `privileged`."""
    return _user(f"system:{dialect.system_prefix}-scheduler", (), privileged)


def node_user(name: str, *, privileged: bool) -> User:
    """The user that the agent of a node acts as. Where nodes have no rights of their own it has to
    be `privileged`."""
    return _user(f"{NODE_PREFIX}{name}", (NODES_GROUP,), privileged)


def _user(name: str, groups: tuple[str, ...], privileged: bool) -> User:
    return with_authenticated_group(User(name, "", (*groups, MASTERS) if privileged else groups))
