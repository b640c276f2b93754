"""Scripts for the containers of simulated nodes, until the end of a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from fairlead.client.errors import NotFound
from fairlead.client.sync import SyncClient
from fairlead.testing.powers import Lent, all_of

Object = dict[str, Any]

KIND, GROUP = "Behaviour", "simulation.fairlead.dev"
API_VERSION, DEFINITION = f"{GROUP}/v1", f"behaviours.{GROUP}"
INSTALLER = "simulation-definitions"  # the controller that installs the definition


class Behaviour(Lent):
    """A Behaviour in the server, until its `end`, or the end of its context."""

    def __init__(self, lent: list[Lent], admin: SyncClient, value: Object) -> None:
        metadata = value["metadata"]
        self.name, self.namespace = metadata["name"], metadata["namespace"]
        self._kinds = admin.resource(DEFINITION)
        self._kinds.create(value, fieldValidation="Strict")
        super().__init__(lent)

    def change(self, **spec: Any) -> None:
        """Replace fields of its spec, for commands and containers that start later."""
        self._kinds.patch(self.name, {"spec": _fields(spec)}, self.namespace)

    def _end(self) -> None:
        with suppress(NotFound):
            self._kinds.delete(self.name, self.namespace)


def behaviour(
    name: str,
    namespace: str,
    labels: Mapping[str, Any] | None,
    patterns: Mapping[str, str | Sequence[str]],
    spec: Object,
) -> Object:
    """A Behaviour. `labels` is a label selector, or the labels that pods must have; `patterns` are
    the other parts of the selector."""
    selector: Object = {key: all_of(texts) for key, texts in patterns.items() if texts}
    if labels is not None:
        is_selector = labels.keys() <= {"matchLabels", "matchExpressions"}
        selector["labels"] = dict(labels) if is_selector else {"matchLabels": dict(labels)}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": selector, **_fields(spec)},
    }


def _fields(spec: Object) -> Object:
    return {"pullFailure" if key == "pull_failure" else key: part for key, part in spec.items()}
