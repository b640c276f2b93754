"""Objects as JSON and YAML documents."""

from __future__ import annotations

import json
from typing import Any


def as_json(value: Any) -> str:
    return json.dumps(value, indent=4, ensure_ascii=False)


def as_yaml(value: Any) -> str:
    """Without the last line's end."""
    import yaml

    text: str = yaml.dump(
        value, Dumper=yaml.CSafeDumper, allow_unicode=True, default_flow_style=False, width=10**6
    )
    return text.rstrip("\n")
