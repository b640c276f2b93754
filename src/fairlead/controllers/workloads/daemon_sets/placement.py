"""Decides on which nodes the pods of a DaemonSet run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fairlead.base.slices import TimeSlices
from fairlead.controllers.node_affinity import Node, Tolerations, selects
from fairlead.controllers.workloads.daemon_sets.templates import Tolerated
from fairlead.controllers.workloads.index import Cell, Index
from fairlead.operations.api import Object
from fairlead.resources.core.pods import NO_EXECUTE, NO_SCHEDULE
from fairlead.storage.collection import Collection
from fairlead.storage.version import Change, Version

NODES = "core/v1/nodes"


class Fit(NamedTuple):
    """`runs`: a daemon pod is to be created on the node; `stays`: an existing one may remain."""

    runs: bool
    stays: bool


def fit(template: Object, tolerations: Tolerations, node: Node) -> Fit:
    """How a node fits the template of a DaemonSet."""
    spec = template["spec"]
    if spec.get("nodeName", node.name) != node.name or not selects(spec, node):
        return Fit(False, False)
    stays = tolerations.tolerate_all(node.taints, (NO_EXECUTE,))
    return Fit(stays and tolerations.tolerate_all(node.taints, (NO_SCHEDULE,)), stays)


def concerns_daemons(change: Change) -> bool:
    """Whether a change of a node may change how it fits."""
    before, after = change.before, change.after
    if before is None or after is None or before.labels != after.labels:
        return True
    if not before.mentions("taints") and not after.mentions("taints"):
        return False
    return Node(before.object()).taints != Node(after.object()).taints


class Nodes(Index):
    """The nodes, each decoded once per version."""

    def __init__(self, collection: Collection) -> None:
        super().__init__(collection)
        self._cells: dict[str, Cell[Node]] = {}

    def all(self) -> list[Node]:
        self._catch_up()
        return [self._value(cell) for cell in self._cells.values()]

    def _value(self, cell: Cell[Node]) -> Node:
        if cell.value is None:
            cell.value = Node(cell.version.object())
        return cell.value

    def _keys(self) -> Iterable[str]:
        return self._cells

    def _put(self, key: str, version: Version | None) -> None:
        if version is None:
            self._cells.pop(key, None)
        else:
            self._cells[key] = Cell(version)


class _CachedFits:
    """Cached results for one generation of a set, by node name."""

    def __init__(self, generation: tuple[str, int]) -> None:
        self.generation = generation
        self.fits: dict[str, tuple[Node, Fit]] = {}


class PlacementCache:
    """Caches how nodes fit each set: syncs are far more frequent than changes of sets or nodes."""

    def __init__(self, nodes: Nodes, tolerated: Tolerated) -> None:
        self._nodes = nodes
        self._tolerated = tolerated
        self._cached: dict[str, _CachedFits] = {}

    def forget(self, key: str) -> None:
        self._cached.pop(key, None)

    async def of(self, key: str, owner: Object) -> dict[str, Fit]:
        """How each node fits a set, by node name. Yields to the event loop."""
        generation = owner["metadata"]["uid"], owner["metadata"].get("generation", 0)
        cached = self._cached.get(key)
        if cached is None or cached.generation != generation:
            cached = self._cached[key] = _CachedFits(generation)
        template = owner["spec"]["template"]
        tolerations = Tolerations(self._tolerated.tolerations_for(template["spec"]))
        before, cached.fits = cached.fits, {}
        slices = TimeSlices()
        for node in self._nodes.all():
            previous = before.get(node.name)
            if previous is None or previous[0] is not node:
                previous = node, fit(template, tolerations, node)
                await slices.pause()
            cached.fits[node.name] = previous
        return {name: fit for name, (_, fit) in cached.fits.items()}
