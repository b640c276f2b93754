"""Request bodies of objects that all differ.

Marks of a fixed width stand for an object's own number: in names, labels, values, images, sizes and
ports. So nothing is built per request, and a protobuf body keeps its lengths when the marks are
replaced. The server's caches by content do not help with such objects.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import count, cycle
from pathlib import Path
from typing import Any

import yaml

from bench.client import Maker
from fairlead.base.dialect import KUBERNETES
from fairlead.codec.protobuf import to_message
from fairlead.codec.protobuf_wire import varint
from fairlead.codec.types.builtin import BuiltinTypes

# The marks are the values of object number 0: its number, a size and a port.
COUNTER = "00000000"
SIZE = 10_000_000
PORT = 20_000
PORTS = 40_000
POD = json.loads(Path(__file__).with_name("pod.json").read_text())
LINE = f"level={COUNTER},format=json,target=stderr,sampling=0.25;" * 4
TYPES = {"configmaps": "core/v1.ConfigMap", "pods": "core/v1.Pod"}


def new(resource: str, name: str = "") -> dict[str, Any]:
    """Return a Pod with two containers, or a ConfigMap: 1.1 KB when stored, as in the reference's
    12 MB list."""
    if resource == "pods":
        return {**POD, "metadata": {**POD["metadata"], "name": name or f"pod-{COUNTER}"}}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name or f"cm-{COUNTER}"},
        "data": {**{f"setting-{n}.conf": LINE[:140] for n in range(4)}, "count": COUNTER},
    }


def encode(value: dict[str, Any]) -> bytes:
    """Encode as compact JSON."""
    return json.dumps(value, separators=(",", ":")).encode()


def encode_yaml(value: dict[str, Any]) -> bytes:
    """Encode as YAML, as in a file."""
    text: str = yaml.safe_dump(value, sort_keys=False)
    return text.encode()


@cache
def _types() -> BuiltinTypes:
    return BuiltinTypes(KUBERNETES)


def message(resource: str, value: dict[str, Any]) -> bytes:
    """Encode as protobuf in its envelope."""
    return to_message(_types().struct(TYPES[resource]), value)


def with_number(template: bytes, number: int) -> bytes:
    """Replace the marks of a template by the values that follow from a number."""
    port = PORT + number % PORTS
    # In this order no replacement creates a mark for the next one.
    marked = template.replace(varint(PORT), varint(port)).replace(b"%d" % PORT, b"%d" % port)
    return marked.replace(b"%d" % SIZE, b"%d" % (SIZE + number)).replace(
        COUNTER.encode(), b"%08d" % number
    )


def numbered(requests: Sequence[bytes]) -> Maker:
    """Make the requests in turn, each time with a new number in place of the marks."""
    templates, numbers = cycle(requests), count(1)
    return lambda: with_number(next(templates), next(numbers))


def constant(request: bytes) -> Maker:
    """Make the same request every time."""
    return lambda: request
