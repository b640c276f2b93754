"""Sets and removes labels or annotations, for `label` and `annotate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.local_objects import add_local_flag
from fairlead.cli.output.formats import add_output_flag, check_output, show_result
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.selection import add_selection_flags, check_choice, select_objects, uses_selector
from fairlead.cli.write_options import (
    EXPECTED,
    Failures,
    add_dry_run_flag,
    add_manager_flag,
    dry_run,
    note,
    write_query,
)
from fairlead.client.resources import MERGE_PATCH
from fairlead.fields.merge_patch import apply_merge_patch

_NOTHING = "name objects first, such as pod web or pod/web"


class LabelChanges(NamedTuple):
    """The changes to labels or annotations. `word` is label or annotation, `field` the metadata
    field."""

    word: str
    field: str
    set: Mapping[str, str]
    removed: Sequence[str]

    def changes(self, current: Mapping[str, str]) -> dict[str, str | None]:
        """The merge patch of the current values: null removes a key; unchanged keys are left
        out."""
        updates: dict[str, str | None] = {
            key: value for key, value in self.set.items() if current.get(key) != value
        }
        return updates | dict.fromkeys(key for key in self.removed if key in current)


def add_marking_flags(parser: ArgumentReader, command: str) -> None:
    parser.add_argument("words", metavar="KIND [NAME...] KEY=VALUE...", nargs="*")
    add_selection_flags(parser, command)
    add_local_flag(parser)
    add_output_flag(parser)
    add_dry_run_flag(parser)
    add_manager_flag(parser, f"fairlead-{command}")
    parser.add_switch("--overwrite", help="allow changing existing values")
    parser.add_switch("--list", help="print the result")
    parser.add_argument(
        "--resource-version",
        metavar="VERSION",
        default="",
        help="only if the object still has this resource version",
    )


def split_words(words: Sequence[str], word: str) -> tuple[list[str], list[str]]:
    """Split the words into objects and the changes after them; raises CommandError."""
    start = next((index for index, word in enumerate(words) if _is_change(word)), len(words))
    for change in words[start:]:
        if not _is_change(change):
            raise CommandError(
                f"objects must come before the changes, but this comes after them: {change}"
            )
    return list(words[:start]), list(words[start:])


def _is_change(word: str) -> bool:
    return ("=" in word and not word.startswith("=")) or (word.endswith("-") and len(word) > 1)


def parse_marks(
    word: str, changes: Sequence[str], check: Callable[[str, str], None]
) -> LabelChanges:
    """Parse KEY=VALUE and KEY- words; raises CommandError. `check` is called with each KEY=VALUE
    word and its value."""
    values: dict[str, str] = {}
    removed: list[str] = []
    for change in changes:
        key, sign, value = change.partition("=")
        if sign:
            check(change, value)
            values[key] = value
        else:
            removed.append(change[:-1])
    if values.keys() & set(removed):
        article = "an" if word == "annotation" else "a"
        raise CommandError(f"{article} {word} is both set and removed")
    return LabelChanges(word, f"{word}s", values, removed)


async def mark(
    invocation: Invocation,
    words: Sequence[str],
    marks: LabelChanges,
    outcome: Callable[[LabelChanges, bool], str],
    overwritten: Callable[[Mapping[str, str]], str],
) -> int:
    """Change all selected objects and return the exit code. `outcome` returns the result text of an
    object, given whether it changed; `overwritten` the error text for existing values without
    --overwrite."""
    check_output(invocation)
    check_choice(invocation, words, _NOTHING)
    if not marks.set and not marks.removed and not invocation.options.list:
        raise CommandError(f"say which {marks.word} to change: KEY=VALUE, or KEY- to remove it")
    if invocation.options.resource_version and (uses_selector(invocation) or len(words) > 2):
        raise CommandError("--resource-version needs a single object, but several are selected")
    failures = Failures()
    objects = [resolved async for resolved in select_objects(invocation, words, failures)]
    for selected in objects:
        try:
            await _mark_one(
                invocation, selected, marks, outcome, overwritten, alone=len(objects) == 1
            )
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
    return failures.finish()


async def _mark_one(
    invocation: Invocation,
    resolved: ResolvedObject,
    marks: LabelChanges,
    outcome: Callable[[LabelChanges, bool], str],
    overwritten: Callable[[Mapping[str, str]], str],
    alone: bool,
) -> None:
    current: dict[str, str] = resolved.value["metadata"].get(marks.field) or {}
    other = {
        key: current[key] for key, value in marks.set.items() if current.get(key, value) != value
    }
    if other and not invocation.options.overwrite:
        raise CommandError(overwritten(other))
    for key in marks.removed:
        if key not in current and marks.word == "label":
            invocation.screen.print(f'label "{key}" not found.')
    changes = marks.changes(current)
    updated = resolved.value
    if changes or invocation.options.resource_version:
        updated = await _changed(invocation, resolved, marks.field, changes)
    if invocation.options.list:
        _list(invocation, resolved, updated["metadata"].get(marks.field) or {}, marks.word, alone)
    elif marks.set or marks.removed:
        show_result(
            invocation,
            resolved.resource.type,
            updated,
            outcome(marks, bool(changes)),
            note(invocation.options),
        )


async def _changed(
    invocation: Invocation, resolved: ResolvedObject, field: str, changes: Mapping[str, str | None]
) -> dict[str, object]:
    metadata: dict[str, object] = {field: changes}
    if invocation.options.resource_version:
        metadata["resourceVersion"] = invocation.options.resource_version
    patch = {"metadata": metadata}
    if dry_run(invocation.options) == "client":
        merged: dict[str, object] = apply_merge_patch(resolved.value, patch)
        return merged
    return await resolved.resource.patch(
        resolved.name,
        patch,
        resolved.namespace,
        type=MERGE_PATCH,
        **write_query(invocation.options),
    )


def _list(
    invocation: Invocation,
    resolved: ResolvedObject,
    values: Mapping[str, str],
    word: str,
    alone: bool,
) -> None:
    before = ""
    if not alone:
        type = resolved.resource.type
        invocation.screen.print(f"Listing {word}s for {type.kind}.{type.group}/{resolved.name}:")
        before = " "
    for key, value in sorted(values.items()):
        invocation.screen.print(f"{before}{key}={value}")
