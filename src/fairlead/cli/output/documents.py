"""Objects as JSON and YAML documents."""

from __future__ import annotations

import re
from typing import Any

import orjson

from fairlead.cli.output.values import escaped

_INDENT = re.compile("^ +", re.MULTILINE)  # texts have no line breaks in JSON


def as_json(value: Any) -> str:
    """With sorted keys, four spaces a level."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
    return escaped(_INDENT.sub(lambda found: found[0] * 2, text))


def as_yaml(value: Any) -> str:
    """Without the last line's end."""
    from fairlead.cli.output.yaml_text import dump

    return dump(value).removesuffix("\n")


def without_managed_fields(value: dict[str, Any]) -> dict[str, Any]:
    """The object or the list of objects, changed in place."""
    for one in (value, *(value.get("items") or ())):
        if isinstance(one, dict) and isinstance(one.get("metadata"), dict):
            one["metadata"].pop("managedFields", None)
    return value
