"""The metadata of objects inside objects is held to the rules of all metadata."""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.names import path_segment
from fairlead.resources.causes import Causes
from fairlead.resources.metadata import check_metadata

_SOME_NAME = "fakename"  # an embedded object need not have one


def check_embedded_metadata(metadata: dict[str, Any], path: str, causes: Causes) -> None:
    """For `compile_schema`: its `metadata_rules`."""
    named = {**metadata, "name": metadata.get("name") or _SOME_NAME}
    namespaced = bool(metadata.get("namespace"))
    check_metadata(named, namespaced, path_segment, causes, path, qualified=False)
