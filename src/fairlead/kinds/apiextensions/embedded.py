"""The metadata of objects inside objects is held to the rules of all metadata."""

from __future__ import annotations

from typing import Any

from fairlead.kinds.causes import Causes
from fairlead.kinds.metadata import check_metadata
from fairlead.schema.names import path_segment

_SOME_NAME = "fakename"  # an embedded object need not have one


def check_embedded_metadata(metadata: dict[str, Any], path: str, causes: Causes) -> None:
    """For `compile_schema`: its `metadata_rules`."""
    named = {**metadata, "name": metadata.get("name") or _SOME_NAME}
    namespaced = bool(metadata.get("namespace"))
    check_metadata(named, namespaced, path_segment, causes, path, qualified=False)
