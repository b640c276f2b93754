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

_TRIES = 5


class Outcome(NamedTuple):
    value: Object
    word: str  # created, configured or unchanged


class ClientSide:
    """Applies objects with the given options. `pretend` (client dry run) only reads from the
    server. With `deletion`, objects whose patch is rejected as invalid are deleted and created
    again."""

    def __init__(
        self,
        at: Invocation,
        dialect: Dialect,
        annotation: str,
        query: dict[str, Any],
        pretend: bool = False,
        deletion: Deletion | None = None,
    ) -> None:
        self._at = at
        self._dialect = dialect
        self._annotation = annotation
        self._query = query
        self._pretend = pretend
        self._deletion = deletion

    async def apply(self, one: ResolvedObject) -> Outcome:
        """Apply one object, with up to 5 attempts on conflicts. Raises CommandFailed and
        ApiError."""
        require_name(one, "apply")
        wanted = recorded(one.value, self._annotation)
        for attempt in range(_TRIES):
            try:
                return await self._tried(one, wanted, first=attempt == 0)
            except Conflict:
                if attempt == _TRIES - 1:
                    raise
        raise AssertionError("unreachable")

    async def _tried(self, one: ResolvedObject, wanted: Object, first: bool) -> Outcome:
        try:
            live = await one.resource.get(one.name, one.namespace)
        except NotFound:
            if self._pretend:
                return Outcome(wanted, "created")
            return Outcome(await self._created(one, wanted), "created")
        last = last_applied(live, self._annotation)
        if last is None and first:
            self._warn_of_missing(one)
        struct = type_of(self._dialect, one.resource.type)
        patch = changes(struct, last or {}, wanted, live)
        if not patch:
            return Outcome(live, "unchanged")
        try:
            made = await self._patched(one, struct, live, patch)
        except Invalid:
            if self._deletion is None:
                raise
            made = await self._made_again(one, wanted, live, self._deletion)
        return Outcome(made, "unchanged" if same_content(live, made) else "configured")

    async def _created(self, one: ResolvedObject, wanted: Object) -> Object:
        try:
            return await one.resource.create(wanted, one.namespace, **self._query)
        except ApiError as error:
            raise sourced(error, "creating", one.origin) from None

    async def _patched(
        self, one: ResolvedObject, struct: Struct | None, live: Object, patch: Object
    ) -> Object:
        if not self._pretend:
            try:
                return await one.resource.patch(
                    one.name, patch, one.namespace, type=patch_type(struct), **self._query
                )
            except ApiError as error:
                raise sourced(error, "applying patch to", one.origin) from None
        if struct is None:
            merged: Object = apply_merge_patch(live, patch)
            return merged
        return apply_strategic_patch(struct, live, patch)

    async def _made_again(
        self, one: ResolvedObject, wanted: Object, live: Object, deletion: Deletion
    ) -> Object:
        """Delete the object and create it anew. If the server rejects the new object, the old one
        is created again and the error raised."""
        doomed = await remove(one.resource, one.name, one.namespace, deletion)
        await wait_until_gone(self._at, [doomed], deletion.timeout)
        try:
            return await one.resource.create(wanted, one.namespace, **self._query)
        except ApiError as error:
            metadata = {
                name: value
                for name, value in live["metadata"].items()
                if name not in ("uid", "resourceVersion", "creationTimestamp", "managedFields")
            }
            await one.resource.create({**live, "metadata": metadata}, one.namespace)
            raise sourced(error, "replacing", one.origin) from None

    def _warn_of_missing(self, one: ResolvedObject) -> None:
        self._at.screen.warn(
            f"Warning: {one.resource.type.name}/{one.name} has no annotation"
            f" {self._annotation}, where apply --client-side keeps the last configuration. It is"
            " added now; from the next apply on, fields that are no longer in the file are removed."
        )
