"""`diff`: shows what apply would change."""

from __future__ import annotations

from typing import Any

from fairlead.cli.apply.last_applied import annotation_of
from fairlead.cli.apply.migration import CLIENT_SIDE
from fairlead.cli.apply.order import in_order
from fairlead.cli.apply.prune import Ours, allowed_kinds, leftovers, usual_kinds
from fairlead.cli.apply.server_side import ServerSide
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.diff.output import FAILED, PROGRAM, show
from fairlead.cli.diff.pair import Pair, pair
from fairlead.cli.error_messages import worded
from fairlead.cli.errors import CommandError, CommandFailed, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import add_file_flags
from fairlead.cli.resolution import ResolvedObject, Resolver, files_of
from fairlead.cli.selectors import by_labels
from fairlead.cli.write_options import EXPECTED, MANAGER, Failures, add_manager_flag
from fairlead.client.errors import NotFound
from fairlead.client.resources import Object

MISUSED = FAILED  # exit code of usage errors: 1 means a difference
_DRY = {"dryRun": "All"}


def add_flags(parser: ArgumentReader) -> None:
    add_file_flags(parser, "compare")
    add_manager_flag(parser, "")
    parser.add_switch("--server-side", default=True, help="compare with a server-side apply")
    parser.add_switch("--client-side", help="compare with apply --client-side")
    parser.add_switch("--force-conflicts", help="compare with a forced apply")
    parser.add_switch("--show-managed-fields", help="include managedFields")
    parser.add_switch("--prune", help="also show objects that would be pruned")
    parser.add_label_selector()
    parser.add_argument(
        "--prune-allowlist",
        metavar="GROUP/VERSION/KIND",
        action="append",
        default=[],
        help="prune only objects of this kind; can be repeated",
    )
    parser.epilog = (
        "The exit code is 0 if nothing differs, 1 if something does and greater than 1 for a"
        f" failure.\n{PROGRAM} names a program that is given two folders instead."
    )


async def run(at: Invocation) -> int:
    """Run the command; failures exit with a code above 1, since 1 means a difference."""
    try:
        return await _run(at)
    except UsageError as error:
        raise CommandError(str(error), FAILED) from None
    except CommandFailed as error:
        raise CommandFailed(str(error), max(error.code, FAILED)) from None
    except EXPECTED as error:
        raise CommandFailed(worded(error), FAILED) from None


async def _run(at: Invocation) -> int:
    annotation = annotation_of(await at.client.discovery.dialect())
    failures, places = Failures(), Resolver(at)
    comparison = _Comparison(at, annotation)
    found = in_order(files_of(at, "diff"), at.namespace)
    matches = by_labels(at.options.selector) if at.options.selector else None
    for one in found:
        if matches is not None and not matches(one.value):
            continue
        try:
            await comparison.add(await places.of(one))
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
    if at.options.prune and not failures:
        await comparison.add_leftovers()
    code = show(at, comparison.pairs)
    failures.finish()
    return code


class _Comparison:
    def __init__(self, at: Invocation, annotation: str) -> None:
        self._at = at
        self._annotation = annotation
        self._client_side = at.options.client_side or not at.options.server_side
        usual = CLIENT_SIDE if self._client_side else MANAGER
        self._manager = at.options.field_manager or usual
        self._seen: set[str] = set()
        self._spaces: dict[str, None] = {}
        self.pairs: list[Pair] = []

    async def add(self, one: ResolvedObject) -> None:
        try:
            live = await one.resource.get(one.name, one.namespace) if one.name else None
        except NotFound:
            live = None
        merged = await self._merged(one)
        self._note(one, live)
        self._append(one.resource.type, live, merged)

    def _append(self, type: Any, live: Object | None, merged: Object | None) -> None:
        shown = self._at.options.show_managed_fields
        self.pairs.append(pair(type, live, merged, shown))

    def _note(self, one: ResolvedObject, live: Object | None) -> None:
        if live is not None:
            self._seen.add(live["metadata"]["uid"])
        if one.namespace:
            self._spaces[one.namespace] = None

    async def _merged(self, one: ResolvedObject) -> Object:
        """The object that a server dry run of apply returns."""
        if not self._client_side:
            force = self._at.options.force_conflicts
            screen = self._at.screen
            apply = ServerSide(screen, self._annotation, self._manager, force, _DRY).apply
            return await apply(one)
        from fairlead.cli.apply.client_side import ClientSide

        dialect = await self._at.client.discovery.dialect()
        query = {**_DRY, "fieldManager": self._manager}
        return (await ClientSide(self._at, dialect, self._annotation, query).apply(one)).value

    async def add_leftovers(self) -> None:
        client, options = self._at.client, self._at.options
        dialect = await client.discovery.dialect()
        kinds = allowed_kinds(options.prune_allowlist) or usual_kinds(dialect)
        ours = Ours(self._annotation, self._manager, not self._client_side)
        spaces = list(self._spaces)
        async for one in leftovers(client, kinds, spaces, options.selector, self._seen, ours):
            self._append(one.resource.type, one.value, None)
