"""Saves edited objects: sends only the edited fields, and raises a conflict if another client
changed the same fields meanwhile."""

from __future__ import annotations

from typing import Any

from fairlead.cli.apply.changes import changes, patch_type
from fairlead.cli.compared_fields import without
from fairlead.cli.resolution import ResolvedObject
from fairlead.client.errors import Conflict, error_of_status
from fairlead.client.resources import Object
from fairlead.codec.types.model import Struct

_TRIES = 5
_SHOWN_AS_IS = ("managedFields",)


def shown(value: Object) -> Object:
    """The object as it is shown in the editor."""
    return without(value, _SHOWN_AS_IS)


def patch_of(struct: Struct | None, before: Object, after: Object) -> Object:
    """The patch of the edit; empty if nothing changed."""
    return changes(struct, before, after, before)


async def save(
    one: ResolvedObject,
    struct: Struct | None,
    patch: Object,
    subresource: str,
    query: dict[str, Any],
) -> Object:
    """Send the patch with the current resourceVersion; up to 5 attempts. Raises Conflict if another
    client changed the same fields since the object was shown, and ApiError."""
    for _ in range(_TRIES):
        live = await one.resource.get(one.name, one.namespace, subresource=subresource)
        if _overlap(patch, _changes_of_others(struct, one.value, live)):
            break
        metadata = {"resourceVersion": live["metadata"]["resourceVersion"]}
        metadata |= patch.get("metadata") or {}
        try:
            return await one.resource.patch(
                one.name,
                {**patch, "metadata": metadata},
                one.namespace,
                type=patch_type(struct),
                subresource=subresource,
                **query,
            )
        except Conflict:
            continue
    raise _conflict(one)


def _changes_of_others(struct: Struct | None, before: Object, live: Object) -> Object:
    sides = [without(side) for side in (before, live)]
    return changes(struct, sides[0], sides[1], sides[0])


def _overlap(one: Any, other: Any) -> bool:
    """Whether two patches touch the same field. A list counts as one field."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return True
    return any(key in other and _overlap(value, other[key]) for key, value in one.items())


def _conflict(one: ResolvedObject) -> Conflict:
    name = one.resource.type.qualified
    found = error_of_status(
        {
            "code": 409,
            "reason": "Conflict",
            "message": f'{name} "{one.name}" was changed meanwhile, in fields that you changed',
        }
    )
    assert isinstance(found, Conflict)
    return found
