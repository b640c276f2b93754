"""`label`: sets and removes labels."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.label_changes import (
    LabelChanges,
    add_marking_flags,
    mark,
    parse_marks,
    split_words,
)
from fairlead.codec.types.names import label_value


def add_flags(parser: ArgumentReader) -> None:
    add_marking_flags(parser, "label")


async def run(invocation: Invocation) -> int:
    words, changes = split_words(invocation.options.words, "label")
    return await mark(
        invocation, words, parse_marks("label", changes, _check), _outcome, _overwritten
    )


def _check(change: str, value: str) -> None:
    problems = label_value(value)
    if problems:
        raise CommandError(f'invalid label value: "{change}": {"; ".join(problems)}')


def _outcome(marks: LabelChanges, changed: bool) -> str:
    if not changed:
        return "not labeled"
    return "labeled" if marks.set else "unlabeled"


def _overwritten(current: Mapping[str, str]) -> str:
    return "\n".join(
        f"{key} is {value} already; --overwrite replaces it" for key, value in current.items()
    )
