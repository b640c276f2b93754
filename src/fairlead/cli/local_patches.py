"""Applies patches on this side, as a server would, and `--overrides`, a patch of new objects."""

from __future__ import annotations

from typing import Any

import orjson

from fairlead.cli.apply.changes import type_of
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.resolution import ResolvedObject
from fairlead.client import ResourceType
from fairlead.fields import json_patch, strategic
from fairlead.fields.errors import PatchError
from fairlead.fields.merge_patch import apply_merge_patch, merge_document

Object = dict[str, Any]
_TYPES = ("json", "merge", "strategic")
_NOT_PATCHED = ("apiVersion", "kind")


async def patched_here(
    invocation: Invocation, type: ResourceType, value: Object, patch: Any, form: str
) -> Object:
    """The object after a patch of one of three forms; raises CommandError."""
    try:
        if form == "json":
            changed: Object = json_patch.apply_json_patch(value, json_patch.operations(patch))
            return changed
        if form == "merge":
            merged: Object = apply_merge_patch(value, merge_document(patch))
            return merged
        struct = type_of(await invocation.client.discovery.dialect(), type)
        if struct is None:
            raise CommandError(
                "custom resources have no strategic patch: use --type=merge or --type=json"
            )
        return strategic.apply_strategic_patch(struct, value, strategic.strategic_document(patch))
    except PatchError as error:
        raise CommandError(str(error)) from None


def add_override_flags(parser: ArgumentReader) -> None:
    parser.add_argument(
        "--overrides", metavar="JSON", default="", help="change the object by this patch"
    )
    parser.add_argument(
        "--override-type",
        metavar="TYPE",
        default="merge",
        help=f"the form of --overrides: {', '.join(_TYPES)}",
    )


async def overridden(invocation: Invocation, resolved: ResolvedObject) -> ResolvedObject:
    """The object after --overrides; raises CommandError."""
    options = invocation.options
    if not options.overrides:
        return resolved
    if options.override_type not in _TYPES:
        raise CommandError(f"--override-type takes {', '.join(_TYPES)}")
    try:
        patch = orjson.loads(options.overrides)
    except orjson.JSONDecodeError as error:
        raise CommandError(f"--overrides is not JSON: {error}") from None
    type, value = resolved.resource.type, resolved.value
    changed = await patched_here(invocation, type, value, patch, options.override_type)
    if any(changed.get(name) != value[name] for name in _NOT_PATCHED):
        raise CommandError(f"--overrides cannot change {' and '.join(_NOT_PATCHED)}")
    return resolved._replace(value=changed)
