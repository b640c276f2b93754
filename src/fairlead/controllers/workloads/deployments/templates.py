"""Pod templates of a Deployment, distinguished by a hash label."""

from __future__ import annotations

from typing import Any

from fairlead.controllers.workloads.hashes import filled
from fairlead.operations.api import Object

HASH_LABEL = "pod-template-hash"


def same_template(one: Object, other: Object) -> bool:
    """Whether templates are equal apart from the hash label and empty fields."""
    return bool(_essence(one) == _essence(other))


def _essence(template: Object) -> Any:
    return filled(without_hash(template))


def without_hash(template: Object) -> Object:
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {})}
    labels.pop(HASH_LABEL, None)
    return {**template, "metadata": {**metadata, "labels": labels}}


def with_hash(labels: Object | None, text: str) -> Object:
    return {**(labels or {}), HASH_LABEL: text}


def selector_with_hash(selector: Object, text: str) -> Object:
    return {**selector, "matchLabels": with_hash(selector.get("matchLabels"), text)}
