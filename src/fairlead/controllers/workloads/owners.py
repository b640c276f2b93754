"""The controller of an object: its owner reference with `controller: true`."""

from __future__ import annotations

import re
from collections.abc import Iterable

import orjson

from fairlead.operations.api import Object
from fairlead.resources.registry import Resource
from fairlead.storage.version import OWNED, Version

_REFERENCES = b'"ownerReferences":['
# The end of the metadata: inside it, keys of these names only have string values.
_BEHIND_METADATA = re.compile(rb',"(?:spec|data|status)":[^"]')


def controller_among(references: Iterable[Object] | None) -> Object | None:
    """The controller reference, or None."""
    return next((reference for reference in references or () if reference.get("controller")), None)


def controller_of(version: Version) -> Object | None:
    """The controller reference of a stored workload object. Runs on every commit, so it decodes
    only the references."""
    if not version.hints & OWNED:
        return None
    body = version.body or b""
    start = body.find(_REFERENCES)
    if start < 0 or _BEHIND_METADATA.search(body, 0, start):
        return None
    start += len(_REFERENCES) - 1
    try:
        return controller_among(orjson.loads(body[start : body.find(b"}]", start) + 2]))
    except orjson.JSONDecodeError:  # the end marker occurs inside a string
        return controller_among(version.object()["metadata"].get("ownerReferences"))


def controller_reference(resource: Resource, owner: Object) -> Object:
    """The reference that makes `owner` the controller of an object."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
