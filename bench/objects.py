"""Request bodies of objects that all differ.

Marks of a fixed width stand where an object's own number goes: names, labels, values, images, sizes
and ports. So nothing is built per request, and a protobuf body keeps its lengths when the marks are
replaced. What the server remembers by content is of no use to such objects.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import count, cycle
from pathlib import Path
from typing import Any

from bench.client import Maker
from fairlead.base.dialect import KUBERNETES
from fairlead.codec.protobuf import to_message
from fairlead.codec.protobuf_wire import varint
from fairlead.codec.types.builtin import BuiltinTypes

# The marks are what object number 0 has: its number, a size and a port.
COUNTER = "00000000"
SIZE = 10_000_000
PORT = 20_000
PORTS = 40_000
POD = json.loads(Path(__file__).with_name("pod.json").read_text())
LINE = f"level={COUNTER},format=json,target=stderr,sampling=0.25;" * 4
TYPES = {"configmaps": "core/v1.ConfigMap", "pods": "core/v1.Pod"}


def new(resource: str, name: str = "") -> dict[str, Any]:
    """A two-container Pod, or a ConfigMap: 1.1 KB when stored, as the reference's 12 MB list."""
    if resource == "pods":
        return {**POD, "metadata": {**POD["metadata"], "name": name or f"pod-{COUNTER}"}}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name or f"cm-{COUNTER}"},
        "data": {**{f"setting-{n}.conf": LINE[:140] for n in range(4)}, "count": COUNTER},
    }


def encode(value: dict[str, Any]) -> bytes:
    """Compact JSON."""
    return json.dumps(value, separators=(",", ":")).encode()


@cache
def _types() -> BuiltinTypes:
    return BuiltinTypes(KUBERNETES)


def message(resource: str, value: dict[str, Any]) -> bytes:
    """Protobuf in its envelope."""
    return to_message(_types().struct(TYPES[resource]), value)


def with_number(template: bytes, number: int) -> bytes:
    """An object's own request: what stands for the marks follows from its number."""
    port = PORT + number % PORTS
    # In this order no replacement makes a mark for the next one.
    marked = template.replace(varint(PORT), varint(port)).replace(b"%d" % PORT, b"%d" % port)
    return marked.replace(b"%d" % SIZE, b"%d" % (SIZE + number)).replace(
        COUNTER.encode(), b"%08d" % number
    )


def numbered(requests: Sequence[bytes]) -> Maker:
    """The requests in turn, each time with a new number where the marks stand."""
    templates, numbers = cycle(requests), count(1)
    return lambda: with_number(next(templates), next(numbers))


def constant(request: bytes) -> Maker:
    """The same request every time."""
    return lambda: request
