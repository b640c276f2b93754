"""Kinds of the coordination group."""

from fairlead.kinds.behaviour import Behaviour
from fairlead.kinds.coordination.leases import LeaseBehaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "coordination/v1/leases": LeaseBehaviour,
}
