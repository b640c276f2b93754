"""The controller of an object: its owner reference with `controller: true`."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.operations.api import Object
from fairlead.resources.registry import Resource
from fairlead.storage.version import Version


def controller_among(references: Iterable[Object] | None) -> Object | None:
    """The controller reference, or None."""
    return next((reference for reference in references or () if reference.get("controller")), None)


def controller_of(version: Version) -> Object | None:
    """The controller reference of a stored object."""
    return controller_among(version.owner_references())


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
