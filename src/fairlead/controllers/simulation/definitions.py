"""Installs the CustomResourceDefinitions that the simulation reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256

from fairlead.base.files import text_beside
from fairlead.codec.bodies import parse_yaml
from fairlead.controllers.framework import Keys
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.resources.custom.definition import DEFINITIONS
from fairlead.storage.version import Version

BEHAVIOURS = "behaviours.simulation.fairlead.dev"
STAGES = "stages.kwok.x-k8s.io"
# The definitions by name, each in a file beside this module.
FILES = {
    BEHAVIOURS: "behaviours.yaml",
    STAGES: "stages.yaml",
}

_DIGEST = "simulation.fairlead/definition"  # annotation: which file a definition was made from
_TERMINATING_DELAY = 1.0  # seconds until a definition that is being deleted is looked at again


class DefinitionInstaller:
    """Keys are names of definitions. Creates those that are missing when the server starts, and
    replaces those that another release of the simulation created. Others are left as they are."""

    name = "simulation-definitions"
    workers = 1

    def __init__(self, api: Api, client: Client, names: Iterable[str] = FILES) -> None:
        self._dialect = api.dialect
        self._client = client
        self._names = tuple(names)

    def follows(self) -> Mapping[str, Keys]:
        return {}

    def add_by(self, add: Callable[[str], None]) -> None:
        for name in self._names:
            add(name)

    async def sync(self, key: str) -> float | None:
        text = text_beside(__file__, FILES[key])
        digest = sha256(text.encode()).hexdigest()
        current = self._client.find(DEFINITIONS, "", key)
        if current is not None:
            metadata = current["metadata"]
            if metadata.get("deletionTimestamp"):
                return _TERMINATING_DELAY
            if (metadata.get("annotations") or {}).get(_DIGEST, digest) == digest:
                return None
        await self._client.apply(DEFINITIONS, self._read(text, digest))
        return None

    def _read(self, text: str, digest: str) -> Object:
        """A definition from its file, in the words of the server's dialect."""
        marked = text.replace("x-kubernetes-", f"x-{self._dialect.marker}-")
        value: Object = parse_yaml(marked.encode())[0]
        annotations = {**(value["metadata"].get("annotations") or {}), _DIGEST: digest}
        metadata = {"name": value["metadata"]["name"], "annotations": annotations}
        return {"metadata": metadata, "spec": value["spec"]}


def is_installed(definition: Version | None) -> bool:
    """Whether a definition is one that the simulation installed: objects of others may have any
    content."""
    if definition is None or not definition.mentions(_DIGEST):
        return False
    return _DIGEST in (definition.object()["metadata"].get("annotations") or {})


def schema_of(name: str) -> Object:
    """The schema in the file of a definition, of its only version. Its extensions are called
    `x-kubernetes-…`."""
    value: Object = parse_yaml(text_beside(__file__, FILES[name]).encode())[0]
    schema: Object = value["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema
