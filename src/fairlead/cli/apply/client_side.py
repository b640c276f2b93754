"""Client-side apply of one object: sends a patch computed from the last applied configuration."""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.base.dialect import Dialect
from fairlead.cli.apply.changes import changes, patch_type, type_of
from fairlead.cli.apply.last_applied import last_applied, recorded
from fairlead.cli.delete.options import Deletion
from fairlead.cli.delete.removal import remove, wait_until_gone
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.documents import same_content
from fairlead.cli.resolution import ResolvedObject, require_name
from fairlead.cli.write_options import sourced
from fairlead.client.errors import ApiError, Conflict, Invalid, NotFound
from fairlead.client.resources import Object
from fairlead.codec.types.model import Struct
from fairlead.fields.merge_patch import apply_merge_patch
from fairlead.fields.strategic import apply_strategic_patch

_MAX_ATTEMPTS = 5


class Outcome(NamedTuple):
    value: Object
    word: str  # created, configured or unchanged


class ClientSide:
    """Applies objects with the given options. `pretend` (client dry run) only reads from the
    server. With `deletion`, objects whose patch is rejected as invalid are deleted and created
    again."""

    def __init__(
        self,
        invocation: Invocation,
        dialect: Dialect,
        annotation: str,
        query: dict[str, Any],
        is_dry_run: bool = False,
        deletion: Deletion | None = None,
    ) -> None:
        self._invocation = invocation
        self._dialect = dialect
        self._annotation = annotation
        self._query = query
        self._is_dry_run = is_dry_run
        self._deletion = deletion

    async def apply(self, resolved: ResolvedObject) -> Outcome:
        """Apply one object, with up to 5 attempts on conflicts. Raises CommandFailed and
        ApiError."""
        require_name(resolved, "apply")
        desired = recorded(resolved.value, self._annotation)
        for attempt in range(_MAX_ATTEMPTS):
            try:
                return await self._tried(resolved, desired, first=attempt == 0)
            except Conflict:
                if attempt == _MAX_ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    async def _tried(self, resolved: ResolvedObject, desired: Object, first: bool) -> Outcome:
        try:
            live = await resolved.resource.get(resolved.name, resolved.namespace)
        except NotFound:
            if self._is_dry_run:
                return Outcome(desired, "created")
            return Outcome(await self._created(resolved, desired), "created")
        last = last_applied(live, self._annotation)
        if last is None and first:
            self._warn_of_missing(resolved)
        struct = type_of(self._dialect, resolved.resource.type)
        patch = changes(struct, last or {}, desired, live)
        if not patch:
            return Outcome(live, "unchanged")
        try:
            patched = await self._patched(resolved, struct, live, patch)
        except Invalid:
            if self._deletion is None:
                raise
            patched = await self._recreate(resolved, desired, live, self._deletion)
        return Outcome(patched, "unchanged" if same_content(live, patched) else "configured")

    async def _created(self, resolved: ResolvedObject, desired: Object) -> Object:
        try:
            return await resolved.resource.create(desired, resolved.namespace, **self._query)
        except ApiError as error:
            raise sourced(error, "creating", resolved.origin) from None

    async def _patched(
        self, resolved: ResolvedObject, struct: Struct | None, live: Object, patch: Object
    ) -> Object:
        if not self._is_dry_run:
            try:
                return await resolved.resource.patch(
                    resolved.name, patch, resolved.namespace, type=patch_type(struct), **self._query
                )
            except ApiError as error:
                raise sourced(error, "applying patch to", resolved.origin) from None
        if struct is None:
            merged: Object = apply_merge_patch(live, patch)
            return merged
        return apply_strategic_patch(struct, live, patch)

    async def _recreate(
        self, resolved: ResolvedObject, desired: Object, live: Object, deletion: Deletion
    ) -> Object:
        """Delete the object and create it anew. If the server rejects the new object, the old one
        is created again and the error raised."""
        deleted = await remove(resolved.resource, resolved.name, resolved.namespace, deletion)
        await wait_until_gone(self._invocation, [deleted], deletion.timeout)
        try:
            return await resolved.resource.create(desired, resolved.namespace, **self._query)
        except ApiError as error:
            metadata = {
                name: value
                for name, value in live["metadata"].items()
                if name not in ("uid", "resourceVersion", "creationTimestamp", "managedFields")
            }
            await resolved.resource.create({**live, "metadata": metadata}, resolved.namespace)
            raise sourced(error, "replacing", resolved.origin) from None

    def _warn_of_missing(self, resolved: ResolvedObject) -> None:
        self._invocation.screen.warn(
            f"Warning: {resolved.resource.type.name}/{resolved.name} has no annotation"
            f" {self._annotation}, where apply --client-side keeps the last configuration. It is"
            " added now; from the next apply on, fields that are no longer in the file are removed."
        )
