"""`apply`: makes objects match their files."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any

from fairlead.cli.apply import client_side as client_side_apply
from fairlead.cli.apply.last_applied import CLIENT_SIDE, annotation_of
from fairlead.cli.apply.prune import AppliedByUs, Leftover, allowed_kinds, leftovers, usual_kinds
from fairlead.cli.apply.server_side import ServerSide
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.delete.options import Deletion, add_deletion_flags, deletion_of
from fairlead.cli.delete.removal import DeletedObject, remove, wait_until_gone
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.file_flags import add_file_flags
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import Manifest
from fairlead.cli.output.formats import add_output_flag, check_output, show_document, show_result
from fairlead.cli.resolution import ResolvedObject, Resolver, files_of, order_manifests
from fairlead.cli.selection import by_labels
from fairlead.cli.write_options import (
    EXPECTED,
    MANAGER,
    Failures,
    add_dry_run_flag,
    add_manager_flag,
    add_validation_flag,
    dry_run,
    note,
    write_query,
)
from fairlead.client import ApiError
from fairlead.client.errors import Forbidden, NotFound
from fairlead.client.resources import Object

_NAMESPACE_TIMEOUT = 30.0  # seconds until a new namespace must be ready for objects
_PAUSE = 0.1

Applier = Callable[[ResolvedObject], Awaitable[tuple[Object, str]]]


def add_flags(parser: ArgumentReader) -> None:
    add_file_flags(parser, "apply")
    add_output_flag(parser)
    add_dry_run_flag(parser)
    add_validation_flag(parser)
    add_manager_flag(parser, "")
    parser.add_switch(
        "--server-side",
        default=None,
        help="merge on the server, which tracks field owners; the default but for --dry-run=client",
    )
    parser.add_switch(
        "--client-side",
        help="merge on the client, using the last applied configuration in an annotation",
    )
    parser.add_switch(
        "--force-conflicts", help="take over fields of other managers, after listing them"
    )
    parser.add_switch(
        "--force", help="client-side: delete and create again objects that cannot be changed"
    )
    parser.add_switch(
        "--prune", help="delete objects that were applied before and are not in the files"
    )
    parser.add_argument(
        "--subresource",
        metavar="NAME",
        default="",
        help="apply to this subresource, such as status; only server-side",
    )
    parser.add_label_selector()
    parser.add_switch("--all", help="prune all applied objects in the namespaces of the files")
    parser.add_argument(
        "--prune-allowlist",
        metavar="GROUP/VERSION/KIND",
        action="append",
        default=[],
        help="prune only objects of this kind; can be repeated",
    )
    parser.add_without_effect("--openapi-patch", "--overwrite")
    add_deletion_flags(parser, waits=False, with_force=False)


async def run(invocation: Invocation) -> int:
    check_output(invocation)
    client_side = _is_client_side(invocation)
    _check(invocation, client_side)
    deletion = deletion_of(invocation.options, invocation.screen)
    manifests = order_manifests(files_of(invocation, "apply"), invocation.namespace)
    if invocation.options.selector:
        matches = by_labels(invocation.options.selector)
        manifests = [manifest for manifest in manifests if matches(manifest.value)]
        if not manifests:
            raise CommandError("no objects passed to apply")
    batch = _Batch(invocation, await _applier(invocation, client_side, deletion))
    for manifest in manifests:
        await batch.apply(manifest)
    batch.show()
    if invocation.options.prune and not batch.failures:
        await _prune(invocation, batch, deletion, client_side)
    return batch.failures.finish()


def _is_client_side(invocation: Invocation) -> bool:
    """Whether this side merges. By default the server does, but not for --dry-run=client."""
    options = invocation.options
    if options.client_side or options.server_side is not None:
        return bool(options.client_side or not options.server_side)
    return dry_run(options) == "client"


def _check(invocation: Invocation, client_side: bool) -> None:
    """Raises CommandError for flags that contradict each other."""
    options = invocation.options
    if options.force_conflicts and client_side:
        raise CommandError("--force-conflicts has no meaning with --client-side")
    if options.subresource and client_side:
        raise CommandError("--subresource needs --server-side")
    if options.force and not client_side:
        raise CommandError("--force needs --client-side")
    if options.force and dry_run(options) == "server":
        raise CommandError("--force deletes objects: it cannot be tried with --dry-run=server")
    if dry_run(options) == "client" and not client_side:
        raise CommandError(
            "only the server can tell what it would do: use --dry-run=server, or --client-side"
        )
    if options.prune and options.all and options.selector:
        raise CommandError("--all and --selector contradict each other: give one of them")
    if options.prune and not options.all and not options.selector:
        raise CommandError(
            "--prune deletes objects that are no longer in the files. Select which ones: --all, or"
            " those with a label (-l)"
        )
    allowed_kinds(options.prune_allowlist)


def _manager(invocation: Invocation, client_side: bool) -> str:
    return invocation.options.field_manager or (CLIENT_SIDE if client_side else MANAGER)


async def _applier(invocation: Invocation, client_side: bool, deletion: Deletion) -> Applier:
    dialect = await invocation.client.discovery.dialect()
    annotation = annotation_of(dialect)
    query: dict[str, Any] = write_query(invocation.options)
    manager = _manager(invocation, client_side)
    if not client_side:
        force = invocation.options.force_conflicts
        server_side = ServerSide(
            invocation.screen, annotation, manager, force, query, invocation.options.subresource
        )

        async def on_server(resolved: ResolvedObject) -> tuple[Object, str]:
            return await server_side.apply(resolved), "serverside-applied"

        return on_server
    query["fieldManager"] = manager
    pretend = dry_run(invocation.options) == "client"
    forced = deletion if invocation.options.force else None
    local = client_side_apply.ClientSide(invocation, dialect, annotation, query, pretend, forced)
    return local.apply


class _Batch:
    """Applies the objects of one command in order, and collects results and errors."""

    def __init__(self, invocation: Invocation, applier: Applier) -> None:
        self._invocation = invocation
        self._applier = applier
        self._resolver = Resolver(invocation)
        self._namespaces: set[str] = set()  # applied by this command
        self._results: list[Object] = []
        self.failures = Failures()
        self.applied: set[str] = set()
        self.spaces: dict[str, None] = {}

    async def apply(self, manifest: Manifest) -> None:
        try:
            resolved = await self._resolver.of(manifest)
            applied, word = await self._apply_with_retries(resolved)
        except (CommandFailed, *EXPECTED) as error:
            self.failures.add(error)
            return
        self._remember(resolved, applied)
        if self._invocation.options.output in ("", "name"):
            show_result(
                self._invocation,
                resolved.resource.type,
                applied,
                word,
                note(self._invocation.options),
            )
        else:
            self._results.append(applied)

    def _remember(self, resolved: ResolvedObject, applied: Object) -> None:
        if "deletionTimestamp" in applied["metadata"]:
            self._invocation.screen.warn(
                f"Warning: {resolved.name} is being deleted, and the applied changes with it"
            )
        self._resolver.remember(resolved.value)
        if resolved.value["kind"] == "Namespace":
            self._namespaces.add(resolved.name)
        self.applied.add(str(applied["metadata"].get("uid") or ""))
        if resolved.namespace:
            self.spaces[resolved.namespace] = None

    async def _apply_with_retries(self, resolved: ResolvedObject) -> tuple[Object, str]:
        """Apply the object; retry for up to 30 seconds if its namespace was applied by the same
        command and is not ready yet."""
        ends = monotonic() + _NAMESPACE_TIMEOUT
        while True:
            try:
                return await self._applier(resolved)
            except (Forbidden, NotFound) as error:
                is_new = resolved.namespace in self._namespaces
                if not is_new or not _is_early(error) or monotonic() > ends:
                    raise
            await asyncio.sleep(_PAUSE)

    def show(self) -> None:
        """Print the results in the format of -o; several as one List."""
        if len(self._results) == 1:
            show_document(self._invocation, self._results[0])
        elif self._results:
            listed = {"apiVersion": "v1", "items": self._results, "kind": "List", "metadata": {}}
            show_document(self._invocation, listed)


def _is_early(error: ApiError) -> bool:
    """Whether the namespace, or the service account that the server creates in it, does not exist
    yet."""
    text = error.message
    return text.endswith("not found") and ("serviceaccount " in text or "namespaces " in text)


async def _prune(
    invocation: Invocation, batch: _Batch, deletion: Deletion, client_side: bool
) -> None:
    dialect = await invocation.client.discovery.dialect()
    kinds = allowed_kinds(invocation.options.prune_allowlist) or usual_kinds(dialect)
    ours = AppliedByUs(annotation_of(dialect), _manager(invocation, client_side), not client_side)
    selector = invocation.options.selector
    deleted_objects: list[DeletedObject] = []
    spaces = list(batch.spaces)
    async for leftover in leftovers(
        invocation.client, kinds, spaces, selector, batch.applied, ours
    ):
        try:
            deleted_objects.append(await _prune_one(invocation, leftover, deletion))
        except NotFound:
            continue
        except EXPECTED as error:
            batch.failures.add(error)
    if deletion.waits and dry_run(invocation.options) == "none":
        await wait_until_gone(invocation, deleted_objects, deletion.timeout)


async def _prune_one(
    invocation: Invocation, leftover: Leftover, deletion: Deletion
) -> DeletedObject:
    metadata = leftover.value["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    if dry_run(invocation.options) == "client":
        deleted = DeletedObject(leftover.resource, namespace, name, "")
    else:
        server = dry_run(invocation.options) == "server"
        deleted = await remove(leftover.resource, name, namespace, deletion, server)
    show_result(
        invocation, leftover.resource.type, leftover.value, "pruned", note(invocation.options)
    )
    return deleted
