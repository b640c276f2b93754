"""Tables for objects from a server that makes none: names and ages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fairlead.codec.types.times import since

Object = dict[str, Any]


def table_of(value: Object) -> Object:
    """A table of one object, or of the items of a list."""
    now = datetime.now(UTC)
    items = value["items"] if isinstance(value.get("items"), list) else [value]
    rows = []
    for item in items:
        metadata = item.get("metadata") or {}
        cells = [metadata.get("name", ""), since(metadata.get("creationTimestamp"), now)]
        rows.append({"cells": cells, "object": item})
    columns = [
        {"name": "Name", "type": "string", "format": "name", "priority": 0},
        {"name": "Age", "type": "string", "format": "", "priority": 0},
    ]
    return {
        "kind": "Table",
        "metadata": value.get("metadata") or {},
        "columnDefinitions": columns,
        "rows": rows,
    }
