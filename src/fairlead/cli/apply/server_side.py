"""Server-side apply of one object: conflicts, and migration from client-side apply."""

from __future__ import annotations

from typing import Any

from fairlead.cli.apply import conflicts
from fairlead.cli.apply.last_applied import (
    CLIENT_SIDE_MANAGERS,
    annotations_of,
    has_client_side_fields,
    keeper,
    migrate,
    text_of,
)
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Screen
from fairlead.cli.resolution import ResolvedObject, require_name
from fairlead.cli.write_options import MANAGER
from fairlead.client.errors import Conflict, Invalid
from fairlead.client.resources import Object

_MAX_ATTEMPTS = 5  # attempts to migrate while other clients change the object


class ServerSide:
    """Applies objects with the given options. `annotation` is the last-applied annotation."""

    def __init__(
        self,
        screen: Screen,
        annotation: str,
        manager: str,
        force: bool,
        query: dict[str, Any],
        subresource: str = "",
    ) -> None:
        self._subresource = subresource
        self._screen = screen
        self._annotation = annotation
        self._manager = manager
        self._force = force
        self._query = {name: value for name, value in query.items() if name != "fieldManager"}
        self._stores = "dryRun" not in query

    async def apply(self, resolved: ResolvedObject) -> Object:
        """Apply one object and return it. With force, conflicting fields are listed as a warning
        first; without, raises CommandFailed. Also raises ApiError."""
        require_name(resolved, "apply")
        try:
            applied = await self._sent(resolved)
        except Conflict as error:
            if not conflicts.is_about_fields(error):
                raise
            applied = await self._despite(resolved, error)
        if self._manager == MANAGER and self._stores and not self._subresource:
            if has_client_side_fields(applied) and await self._take_over(resolved):
                applied = await self._sent(resolved, force=self._force)
            applied = await self._update_annotation(resolved, applied)
        return applied

    async def _sent(self, resolved: ResolvedObject, force: bool = False) -> Object:
        return await resolved.resource.apply(
            resolved.value,
            resolved.namespace,
            manager=self._manager,
            force=force,
            subresource=self._subresource,
            **self._query,
        )

    async def _despite(self, resolved: ResolvedObject, error: Conflict) -> Object:
        """Handle a conflict: fields of client-side apply are migrated to this manager; for others,
        force or fail."""
        if self._manager == MANAGER and conflicts.owners(error) & {*CLIENT_SIDE_MANAGERS}:
            if not self._stores:
                if conflicts.owners(error) <= {*CLIENT_SIDE_MANAGERS}:
                    return await self._sent(resolved, force=True)
            elif await self._take_over(resolved):
                try:
                    return await self._sent(resolved)
                except Conflict as again:
                    error = again
        live = await resolved.resource.get(resolved.name, resolved.namespace)
        listed = conflicts.as_text(resolved, conflicts.owned_fields(error, resolved, live))
        if not self._force:
            raise CommandFailed(f"error: {error.message}\n{listed}\n{conflicts.ADVICE}")
        what = "are taken over" if self._stores else "would be taken over"
        self._screen.warn(f"Warning: these fields of others {what}\n{listed}")
        return await self._sent(resolved, force=True)

    async def _take_over(self, resolved: ResolvedObject) -> bool:
        """Migrate the fields of client-side apply to this manager; return whether it was done."""
        for _ in range(_MAX_ATTEMPTS):
            live = await resolved.resource.get(resolved.name, resolved.namespace)
            if not has_client_side_fields(live):
                return False
            try:
                await migrate(
                    resolved.resource, live, resolved.namespace, self._manager, self._annotation
                )
            except Conflict:
                continue
            return True
        return False

    async def _update_annotation(self, resolved: ResolvedObject, applied: Object) -> Object:
        """Update the last-applied annotation, if the object has one, so that client-side apply
        remains possible."""
        recorded_text = annotations_of(applied).get(self._annotation)
        text = text_of(resolved.value, self._annotation)
        if (
            not recorded_text
            or recorded_text == text
            or self._annotation in annotations_of(resolved.value)
        ):
            return applied
        try:
            return await self._annotated(resolved, {self._annotation: text})
        except Invalid:  # too long: remove the outdated annotation
            return await self._annotated(resolved, {})

    async def _annotated(self, resolved: ResolvedObject, annotations: dict[str, str]) -> Object:
        value = {
            "apiVersion": resolved.value["apiVersion"],
            "kind": resolved.value["kind"],
            "metadata": {"name": resolved.name, "annotations": annotations},
        }
        return await resolved.resource.apply(
            value, resolved.namespace, manager=keeper(self._manager), force=True
        )
