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

_TRIES = 5  # attempts to migrate while other clients change the object


class ServerSide:
    """Applies objects with the given options. `annotation` is the last-applied annotation."""

    def __init__(
        self, screen: Screen, annotation: str, manager: str, force: bool, query: dict[str, Any]
    ) -> None:
        self._screen = screen
        self._annotation = annotation
        self._manager = manager
        self._force = force
        self._query = {name: value for name, value in query.items() if name != "fieldManager"}
        self._stores = "dryRun" not in query

    async def apply(self, one: ResolvedObject) -> Object:
        """Apply one object and return it. With force, conflicting fields are listed as a warning
        first; without, raises CommandFailed. Also raises ApiError."""
        require_name(one, "apply")
        try:
            made = await self._sent(one)
        except Conflict as error:
            if not conflicts.is_about_fields(error):
                raise
            made = await self._despite(one, error)
        if self._manager == MANAGER and self._stores:
            if has_client_side_fields(made) and await self._take_over(one):
                made = await self._sent(one, force=self._force)
            made = await self._kept_current(one, made)
        return made

    async def _sent(self, one: ResolvedObject, force: bool = False) -> Object:
        return await one.resource.apply(
            one.value, one.namespace, manager=self._manager, force=force, **self._query
        )

    async def _despite(self, one: ResolvedObject, error: Conflict) -> Object:
        """Handle a conflict: fields of client-side apply are migrated to this manager; for others,
        force or fail."""
        if self._manager == MANAGER and conflicts.owners(error) & {*CLIENT_SIDE_MANAGERS}:
            if not self._stores:
                if conflicts.owners(error) <= {*CLIENT_SIDE_MANAGERS}:
                    return await self._sent(one, force=True)
            elif await self._take_over(one):
                try:
                    return await self._sent(one)
                except Conflict as again:
                    error = again
        live = await one.resource.get(one.name, one.namespace)
        listed = conflicts.as_text(one, conflicts.owned_fields(error, one, live))
        if not self._force:
            raise CommandFailed(f"error: {error.message}\n{listed}\n{conflicts.ADVICE}")
        what = "are taken over" if self._stores else "would be taken over"
        self._screen.warn(f"Warning: these fields of others {what}\n{listed}")
        return await self._sent(one, force=True)

    async def _take_over(self, one: ResolvedObject) -> bool:
        """Migrate the fields of client-side apply to this manager; return whether it was done."""
        for _ in range(_TRIES):
            live = await one.resource.get(one.name, one.namespace)
            if not has_client_side_fields(live):
                return False
            try:
                await migrate(one.resource, live, one.namespace, self._manager, self._annotation)
            except Conflict:
                continue
            return True
        return False

    async def _kept_current(self, one: ResolvedObject, made: Object) -> Object:
        """Update the last-applied annotation, if the object has one, so that client-side apply
        remains possible."""
        standing = annotations_of(made).get(self._annotation)
        text = text_of(one.value, self._annotation)
        if not standing or standing == text or self._annotation in annotations_of(one.value):
            return made
        try:
            return await self._annotated(one, {self._annotation: text})
        except Invalid:  # too long: remove the outdated annotation
            return await self._annotated(one, {})

    async def _annotated(self, one: ResolvedObject, annotations: dict[str, str]) -> Object:
        value = {
            "apiVersion": one.value["apiVersion"],
            "kind": one.value["kind"],
            "metadata": {"name": one.name, "annotations": annotations},
        }
        return await one.resource.apply(
            value, one.namespace, manager=keeper(self._manager), force=True
        )
