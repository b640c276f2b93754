"""Objects as text for commands that read files."""

from __future__ import annotations

import json
from typing import Any


def text(*values: dict[str, Any]) -> str:
    """Return one document per value."""
    return "\n---\n".join(json.dumps(value, indent=1) for value in values)


def config_map(name: str, *, labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
