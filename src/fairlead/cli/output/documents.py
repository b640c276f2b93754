"""Objects as JSON and YAML documents."""

from __future__ import annotations

import re
from typing import Any

import orjson

from fairlead.cli.output.values import escaped

_INDENT = re.compile("^ +", re.MULTILINE)  # no match in strings: JSON escapes line breaks


def as_json(value: Any) -> str:
    """JSON with sorted keys, indented by four spaces."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
    return escaped(_INDENT.sub(lambda found: found[0] * 2, text))


def as_yaml(value: Any) -> str:
    """YAML without the final line break."""
    from fairlead.cli.output.yaml_text import dump

    return dump(value).removesuffix("\n")


def without_managed_fields(value: dict[str, Any]) -> dict[str, Any]:
    """Remove managedFields from an object or list, in place."""
    for one in (value, *(value.get("items") or ())):
        if isinstance(one, dict) and isinstance(one.get("metadata"), dict):
            one["metadata"].pop("managedFields", None)
    return value
