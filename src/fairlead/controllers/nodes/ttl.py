"""Sets the annotation that tells node agents how long to cache objects: longer in larger
clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf

from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.controllers.framework import Keys
from fairlead.controllers.nodes.pods_by_node import NODES
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.storage.version import Change


@dataclass(frozen=True, slots=True)
class _Step:
    """Cache seconds for a range of cluster sizes. Ranges overlap (hysteresis), so that a cluster at
    a boundary is not rewritten with every node."""

    minimum: float
    maximum: float
    seconds: int


_STEPS = (
    _Step(0, 100, 0),
    _Step(90, 500, 15),
    _Step(450, 1000, 30),
    _Step(900, 2000, 60),
    _Step(1800, inf, 300),
)


class NodeTtl:
    """Keys are names of nodes."""

    workers = 1

    def __init__(self, objects: Client, dialect: Dialect) -> None:
        self._objects = objects
        self._annotation = dialect.label("node.alpha.@/ttl")
        self._names: set[str] = set()
        self._step = 0

    def follows(self) -> Mapping[str, Keys]:
        return {NODES: self._node}

    def _node(self, change: Change) -> Iterable[str]:
        (self._names.discard if change.deleted else self._names.add)(change.name)
        count, before = len(self._names), self._step
        while count > _STEPS[self._step].maximum:
            self._step += 1
        while count < _STEPS[self._step].minimum:
            self._step -= 1
        if self._step != before:
            return list(self._names)
        return () if change.deleted else (change.name,)

    async def sync(self, key: str) -> float | None:
        node = self._objects.find(NODES, "", key)
        if node is None or self._marked(node) is node:
            return None
        try:
            await self._objects.change(NODES, "", key, self._marked)
        except StatusError as error:
            if error.code != 404:
                raise
        return None

    def _marked(self, node: Object) -> Object:
        metadata = node["metadata"]
        annotations = metadata.get("annotations") or {}
        seconds = str(_STEPS[self._step].seconds)
        if annotations.get(self._annotation) == seconds:
            return node
        annotations = {**annotations, self._annotation: seconds}
        return {**node, "metadata": {**metadata, "annotations": annotations}}
