"""The simulated nodes of a server: who they are, and in what state."""

from __future__ import annotations

from fairlead.controllers.simulation.behaviour import NODE_STATE, READY, BehaviourError, node_state
from fairlead.controllers.simulation.names import NODES, node_names, node_user
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
