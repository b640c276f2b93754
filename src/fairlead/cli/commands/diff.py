"""`diff`: shows what apply would change."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any, NamedTuple

from fairlead.base.terminal import printable
from fairlead.cli.apply import client_side
from fairlead.cli.apply.last_applied import CLIENT_SIDE, annotation_of
from fairlead.cli.apply.prune import AppliedByUs, allowed_kinds, leftovers, usual_kinds
from fairlead.cli.apply.server_side import ServerSide
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.error_messages import error_text
from fairlead.cli.errors import CommandError, CommandFailed, UsageError
from fairlead.cli.file_flags import add_file_flags
from fairlead.cli.invocation import Invocation, Paint
from fairlead.cli.output import documents
from fairlead.cli.output.documents import masked_pair
from fairlead.cli.resolution import ResolvedObject, Resolver, files_of, order_manifests
from fairlead.cli.selection import by_labels
from fairlead.cli.versions.differences import painted
from fairlead.cli.write_options import EXPECTED, MANAGER, Failures, add_manager_flag
from fairlead.client import ResourceType
from fairlead.client.errors import NotFound
from fairlead.client.resources import Object

PROGRAM = "FAIRLEAD_EXTERNAL_DIFF"
FAILED = 2
MISUSED = FAILED  # exit code of usage errors: 1 means a difference
_DRY = {"dryRun": "All"}


def add_flags(parser: ArgumentReader) -> None:
    add_file_flags(parser, "compare")
    add_manager_flag(parser, "")
    parser.add_without_effect("--concurrency", value="NUMBER")
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


async def run(invocation: Invocation) -> int:
    """Run the command; failures exit with a code above 1, since 1 means a difference."""
    try:
        return await _run(invocation)
    except UsageError as error:
        raise CommandError(str(error), FAILED) from None
    except CommandFailed as error:
        raise CommandFailed(str(error), max(error.code, FAILED)) from None
    except EXPECTED as error:
        raise CommandFailed(error_text(error), FAILED) from None


async def _run(invocation: Invocation) -> int:
    annotation = annotation_of(await invocation.client.discovery.dialect())
    failures, resolver = Failures(), Resolver(invocation)
    comparison = _Comparison(invocation, annotation)
    manifests = order_manifests(files_of(invocation, "diff"), invocation.namespace)
    matches = by_labels(invocation.options.selector) if invocation.options.selector else None
    for manifest in manifests:
        if matches is not None and not matches(manifest.value):
            continue
        try:
            await comparison.add(await resolver.of(manifest))
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
    if invocation.options.prune and not failures:
        await comparison.add_leftovers()
    code = show(invocation, comparison.pairs)
    failures.finish()
    return code


class _Comparison:
    def __init__(self, invocation: Invocation, annotation: str) -> None:
        self._invocation = invocation
        self._annotation = annotation
        self._client_side = invocation.options.client_side or not invocation.options.server_side
        default = CLIENT_SIDE if self._client_side else MANAGER
        self._manager = invocation.options.field_manager or default
        self._compared: set[str] = set()
        self._spaces: dict[str, None] = {}
        self.pairs: list[Pair] = []

    async def add(self, resolved: ResolvedObject) -> None:
        try:
            live = (
                await resolved.resource.get(resolved.name, resolved.namespace)
                if resolved.name
                else None
            )
        except NotFound:
            live = None
        merged = await self._merged(resolved)
        self._note(resolved, live)
        self._append(resolved.resource.type, live, merged)

    def _append(self, type: Any, live: Object | None, merged: Object | None) -> None:
        show_managers = self._invocation.options.show_managed_fields
        self.pairs.append(pair(type, live, merged, show_managers))

    def _note(self, resolved: ResolvedObject, live: Object | None) -> None:
        if live is not None:
            self._compared.add(live["metadata"]["uid"])
        if resolved.namespace:
            self._spaces[resolved.namespace] = None

    async def _merged(self, resolved: ResolvedObject) -> Object:
        """The object that a server dry run of apply returns."""
        if not self._client_side:
            force = self._invocation.options.force_conflicts
            screen = self._invocation.screen
            apply = ServerSide(screen, self._annotation, self._manager, force, _DRY).apply
            return await apply(resolved)
        dialect = await self._invocation.client.discovery.dialect()
        query = {**_DRY, "fieldManager": self._manager}
        return (
            await client_side.ClientSide(self._invocation, dialect, self._annotation, query).apply(
                resolved
            )
        ).value

    async def add_leftovers(self) -> None:
        client, options = self._invocation.client, self._invocation.options
        dialect = await client.discovery.dialect()
        kinds = allowed_kinds(options.prune_allowlist) or usual_kinds(dialect)
        ours = AppliedByUs(self._annotation, self._manager, not self._client_side)
        spaces = list(self._spaces)
        async for leftover in leftovers(
            client, kinds, spaces, options.selector, self._compared, ours
        ):
            self._append(leftover.resource.type, leftover.value, None)


def show(invocation: Invocation, pairs: list[Pair]) -> int:
    """Return 0 if nothing differs, else 1; raises CommandFailed with a code above 1."""
    differing = [pair for pair in pairs if pair.live != pair.merged]
    if not differing:
        return 0
    command = os.environ.get(PROGRAM)
    if command:
        return _show_with(invocation, command, differing)
    for pair in differing:
        for line in painted(list(_unified(pair)), Paint(invocation.screen)):
            invocation.screen.print(line)
    return 1


def _unified(pair: Pair) -> Iterator[str]:
    names = (f"LIVE/{pair.name}", f"MERGED/{pair.name}")
    yield f"diff -u -N {names[0]} {names[1]}"
    for line in unified_diff(pair.live.splitlines(), pair.merged.splitlines(), *names, lineterm=""):
        yield printable(line)


def _show_with(invocation: Invocation, command: str, pairs: list[Pair]) -> int:
    """Run the program on two folders with the sides; return its exit code 0 or 1, or raise
    CommandError for others."""
    invocation.screen.flush()
    with tempfile.TemporaryDirectory(prefix="fairlead-diff-") as folder:
        sides = []
        for side in ("LIVE", "MERGED"):
            path = Path(folder) / side
            path.mkdir(mode=0o700)
            sides.append(path)
            for pair in pairs:
                text = pair.live if side == "LIVE" else pair.merged
                if text:
                    (path / pair.name.replace("/", "_")).write_text(text)
        try:
            words = shlex.split(command)
            process = subprocess.run(
                [*words, *map(str, sides)], stdout=subprocess.PIPE, text=True, check=False
            )
        except (OSError, ValueError) as error:
            raise CommandError(f'failed to run "{command}": {error}', FAILED) from None
    invocation.screen.out.write(process.stdout)
    if process.returncode > 1 or process.returncode < 0:
        raise CommandError(f'"{command}" failed: exit status {process.returncode}', FAILED)
    return process.returncode


# The two sides of a comparison: the live object and the merged one.


class Pair(NamedTuple):
    """Both sides as text; an empty text means that there is no object. `name` is the file name."""

    name: str
    live: str
    merged: str


def pair(
    type: ResourceType,
    live: Object | None,
    merged: Object | None,
    show_managers: bool = False,
) -> Pair:
    """Both sides as YAML, with Secrets masked, and without managedFields unless `show_managers`."""
    before, after = (_plain(side or {}, show_managers) for side in (live, merged))
    sides = masked_pair(before, after)
    texts = [documents.as_yaml(side) + "\n" if side else "" for side in sides]
    metadata = ((live or merged or {}).get("metadata")) or {}
    group = f"{type.group}." if type.group else ""
    namespace, name = metadata.get("namespace", ""), metadata.get("name", "")
    return Pair(f"{group}{type.version}.{type.kind}.{namespace}.{name}", texts[0], texts[1])


def _plain(side: Object, show_managers: bool) -> Object:
    if show_managers or not side:
        return side
    metadata = {key: item for key, item in side["metadata"].items() if key != "managedFields"}
    return {**side, "metadata": metadata}
