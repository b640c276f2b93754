"""What rules say: whether a node will do for a pod, and if not why."""

from __future__ import annotations

from collections.abc import Callable
from enum import Flag, auto
from typing import NamedTuple

from fairlead.controllers.simulation.scheduler.cluster import Cluster, NodeSummary
from fairlead.controllers.simulation.scheduler.facts import Wish


class Event(Flag):
    """What happens that may make room for a pod that found none."""

    NOTHING = 0
    NODE = auto()
    POD_PLACED = auto()
    POD_GONE = auto()
    VOLUME = auto()


class Refusal(NamedTuple):
    """Why a node will not do. `final`: no pod that goes away changes that; `until`: what might."""

    reasons: tuple[str, ...]
    final: bool
    until: Event


Filter = Callable[[NodeSummary], Refusal | None]
# Reads a pod once, and gives what judges each node; None if the rule has nothing to say about it.
Rule = Callable[[Wish, Cluster], Filter | None]
