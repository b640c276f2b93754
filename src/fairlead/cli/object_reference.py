"""The single object of a command, given as `KIND NAME` or `KIND/NAME`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fairlead.cli.errors import UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.targets import targets_of
from fairlead.client import Resource


class Named(NamedTuple):
    resource: Resource
    name: str
    namespace: str  # empty if cluster-scoped

    @property
    def title(self) -> str:
        """For headings: Deployment default/web."""
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.resource.type.kind} {place}{self.name}"

    def document(self) -> dict[str, Any]:
        """The identifying fields at the head of JSON and YAML output."""
        metadata = {"name": self.name}
        if self.namespace:
            metadata["namespace"] = self.namespace
        type = self.resource.type
        return {"apiVersion": type.api_version, "kind": type.kind, "metadata": metadata}


async def parse_object_reference(at: Invocation, words: Sequence[str]) -> Named:
    """Raises UsageError and UnknownResource."""
    targets = await targets_of(at.client, words)
    if len(targets) != 1 or len(targets[0].names) != 1:
        raise UsageError("exactly one object must be named, as KIND NAME or KIND/NAME")
    resource, (name,) = targets[0]
    return Named(resource, name, at.namespace if resource.type.namespaced else "")
