"""Simulated nodes that tests make fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from fairlead.client.errors import NotFound
from fairlead.client.resources import MERGE_PATCH
from fairlead.controllers.simulation.node_behaviour import (
    NODE_STATE,
    NOT_READY,
    PRESSURE,
    REBOOTING,
    UNREACHABLE,
    until,
)
from fairlead.testing.powers import Duration, Lent, Powers, all_of, duration_text


class Nodes:
    """The simulated nodes of a cluster. A failure lasts `for_`, by the clock of the cluster, and at
    most until its `end` or the end of the context."""

    def __init__(self, powers: Powers) -> None:
        self._powers = powers

    def silence(self, name: str, for_: Duration = "") -> Failure:
        """Make a node say nothing, as if its machine were off: it is lost after 40 seconds."""
        return self._fail(name, NODE_STATE, UNREACHABLE, for_)

    def unready(self, name: str, for_: Duration = "") -> Failure:
        """Make a node report that it is not ready."""
        return self._fail(name, NODE_STATE, NOT_READY, for_)

    def pressure(self, name: str, kinds: str | Sequence[str], for_: Duration = "") -> Failure:
        """Make a node run short of `memory`, `disk` or `pid`: it evicts a pod every ten seconds."""
        return self._fail(name, PRESSURE, ",".join(all_of(kinds)), for_)

    def reboot(self, name: str, for_: Duration = 10) -> None:
        """Reboot a node, which takes so long."""
        self._write(name, NODE_STATE, REBOOTING, for_)

    def recover(self, name: str) -> None:
        """End all failures of a node."""
        for key in (NODE_STATE, PRESSURE):
            self._write(name, key, None, "")

    def _fail(self, name: str, key: str, value: str, for_: Duration) -> Failure:
        self._write(name, key, value, for_)
        return Failure(self._powers.lent, partial(self._write, name, key, None, ""))

    def _write(self, name: str, key: str, value: str | None, for_: Duration) -> None:
        annotations = {key: value, until(key): duration_text(for_) if for_ else None}
        nodes = self._powers.admin.resource("nodes")
        nodes.patch(name, {"metadata": {"annotations": annotations}}, type=MERGE_PATCH)


class Failure(Lent):
    """A failure of a node."""

    def __init__(self, lent: list[Lent], recover: Callable[[], None]) -> None:
        super().__init__(lent)
        self._recover = recover

    def _end(self) -> None:
        with suppress(NotFound):  # e.g. the node was deleted
            self._recover()
