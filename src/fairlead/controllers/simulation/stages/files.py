"""Stage objects from the files of `--simulate-stages`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fairlead.base.errors import StatusError
from fairlead.base.logs import Logger
from fairlead.codec.bodies import BodyError, parse_yaml
from fairlead.codec.types.model import Object
from fairlead.controllers.framework import Keys
from fairlead.controllers.simulation.behaviour import PREFIX
from fairlead.controllers.simulation.definitions import STAGES as STAGES_DEFINITION
from fairlead.controllers.simulation.stages.controller import STAGES
from fairlead.operations.client import Client
from fairlead.resources.custom.definition import DEFINITIONS
from fairlead.storage.version import Change

logger = Logger("fairlead.controllers.simulation")

API_VERSION, KIND = "kwok.x-k8s.io/v1alpha1", "Stage"
FROM_FILE = f"{PREFIX}from-file"  # label of Stages that a file has made
_ENDINGS = (".yaml", ".yml", ".json")
_NOT_OBJECTS = frozenset({"kustomization.yaml", "kustomization.yml"})
_MAX_BYTES = 4 * 1024 * 1024
_SEPARATOR = re.compile(rb"^---(?:[ \t].*)?$", re.MULTILINE)
_LOAD = "load"


class StageFileError(ValueError):
    """A file that cannot be read, or has other objects than Stages."""


def read_stages(path: Path) -> list[Object]:
    """The Stages of a file, or of the YAML and JSON files of a directory; raises
    StageFileError."""
    try:
        is_directory = path.is_dir()
        files = sorted(path.iterdir()) if is_directory else [path]
    except OSError as error:
        raise StageFileError(f"{path}: {error.strerror}") from None
    if is_directory:
        files = [
            file
            for file in files
            if file.suffix in _ENDINGS and file.name not in _NOT_OBJECTS and file.is_file()
        ]
    stages = [stage for file in files for stage in _stages_of(file)]
    if not stages and not is_directory:
        raise StageFileError(f"{path}: there is no Stage")
    return stages


def _stages_of(file: Path) -> Iterator[Object]:
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise StageFileError(f"{file}: {error.strerror}") from None
    if len(raw) > _MAX_BYTES:
        raise StageFileError(f"{file}: is larger than {_MAX_BYTES} bytes")
    for document in _SEPARATOR.split(raw):
        try:
            value = parse_yaml(document)[0] if document.strip() else None
        except BodyError as error:
            raise StageFileError(f"{file}: {error}") from None
        if value is not None:
            yield _checked(file, value)


def _checked(file: Path, value: Any) -> Object:
    if not isinstance(value, dict):
        raise StageFileError(f"{file}: a document is not an object")
    kind = value.get("apiVersion"), value.get("kind")
    if kind != (API_VERSION, KIND):
        raise StageFileError(
            f"{file}: has an object of the kind {kind[1]} of {kind[0]}; only Stages of"
            f" {API_VERSION} are read"
        )
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        raise StageFileError(f"{file}: a Stage has no name")
    return value


class StageFiles:
    """Applies the Stages of files when the server starts, and deletes those of earlier starts that
    are no longer in them."""

    name = "simulated-stage-files"
    workers = 1

    def __init__(self, client: Client, paths: Iterable[Path]) -> None:
        self._client = client
        self._stages = {
            stage["metadata"]["name"]: stage for path in paths for stage in read_stages(path)
        }
        self._is_done = False

    def follows(self) -> Mapping[str, Keys]:
        return {DEFINITIONS: self._definition_changed}

    def _definition_changed(self, change: Change) -> Iterable[str]:
        return (_LOAD,) if change.name == STAGES_DEFINITION and not self._is_done else ()

    async def sync(self, key: str) -> float | None:
        if self._is_done or not self._client.serves(STAGES):
            return None
        for stage in self._stages.values():
            await self._apply(stage)
        for stored in list(self._client.list(STAGES)):
            metadata = stored["metadata"]
            is_ours = FROM_FILE in (metadata.get("labels") or {})
            if is_ours and metadata["name"] not in self._stages:
                await self._client.delete(STAGES, "", metadata["name"])
        self._is_done = True
        return None

    async def _apply(self, stage: Object) -> None:
        metadata = stage["metadata"]
        labels = {**(metadata.get("labels") or {}), FROM_FILE: "true"}
        annotations = metadata.get("annotations") or {}
        value = {
            "metadata": {"name": metadata["name"], "labels": labels, "annotations": annotations},
            "spec": stage.get("spec"),
        }
        try:
            await self._client.apply(STAGES, value)
        except StatusError as error:
            if error.code in (409, 429) or error.code >= 500:
                raise
            logger.error("the Stage of a file is not valid", stage=metadata["name"], err=error)
