"""Who controls an object: the one owner reference that says so."""

from __future__ import annotations

import re
from collections.abc import Iterable

import orjson

from fairlead.operations.api import Object
from fairlead.resources.registry import Resource
from fairlead.storage.version import OWNED, Version

_REFERENCES = b'"ownerReferences":['
# Where the metadata ends: within it keys of these names have texts as their values.
_BEHIND_METADATA = re.compile(rb',"(?:spec|data|status)":[^"]')


def controller_among(references: Iterable[Object] | None) -> Object | None:
    """The reference to the controller."""
    return next((one for one in references or () if one.get("controller")), None)


def controller_of(version: Version) -> Object | None:
    """The reference to the controller of a stored object of a workload. It runs on every commit:
    only the references are decoded."""
    if not version.hints & OWNED:
        return None
    body = version.body or b""
    start = body.find(_REFERENCES)
    if start < 0 or _BEHIND_METADATA.search(body, 0, start):
        return None
    start += len(_REFERENCES) - 1
    try:
        return controller_among(orjson.loads(body[start : body.find(b"}]", start) + 2]))
    except orjson.JSONDecodeError:  # a text in it looks like its end
        return controller_among(version.object()["metadata"].get("ownerReferences"))


def controller_reference(resource: Resource, owner: Object) -> Object:
    """The reference by which an object names this owner as its controller."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
