"""`annotate`: sets and removes annotations."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.invocation import Invocation
from fairlead.cli.label_changes import (
    LabelChanges,
    add_marking_flags,
    mark,
    parse_marks,
    split_words,
)


def add_flags(parser: ArgumentReader) -> None:
    add_marking_flags(parser, "annotate")


async def run(invocation: Invocation) -> int:
    words, changes = split_words(invocation.options.words, "annotation")
    marks = parse_marks("annotation", changes, lambda change, value: None)
    return await mark(invocation, words, marks, _outcome, _overwritten)


def _outcome(marks: LabelChanges, changed: bool) -> str:
    return "annotated"


def _overwritten(current: Mapping[str, str]) -> str:
    listed = ", ".join(f"{key} is {value}" for key, value in current.items())
    return f"already annotated: {listed}; --overwrite replaces it"
