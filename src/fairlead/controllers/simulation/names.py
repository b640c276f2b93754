"""The words that the parts of the simulation share."""

from __future__ import annotations

from fairlead.auth.authentication.user import MASTERS, User, with_authenticated_group
from fairlead.auth.authorization.node import NODE_PREFIX, NODES_GROUP
from fairlead.base.dialect import Dialect

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
