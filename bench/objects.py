"""Request bodies. Eight zeros stand where a number goes, so that nothing is built per request."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count, cycle
from pathlib import Path
from typing import Any

from bench.client import Maker

COUNTER = "00000000"
POD = json.loads(Path(__file__).with_name("pod.json").read_text())
LINE = "level=info,format=json,target=stderr,sampling=0.25;" * 4


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


def numbered(requests: Sequence[bytes]) -> Maker:
    """The requests in turn, each time with a new number where the zeros stand."""
    parts = cycle([request.split(COUNTER.encode(), 1) for request in requests])
    number = count(1)

    def make() -> bytes:
        before, after = next(parts)
        return b"%b%08d%b" % (before, next(number), after)

    return make


def constant(request: bytes) -> Maker:
    """The same request every time."""
    return lambda: request
