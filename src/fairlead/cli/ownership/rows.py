"""A tree of fields as lines that look like YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from fairlead.cli.ownership.fields import Field, Owners
from fairlead.cli.screen import printable

Wanted = Callable[[Field], bool]

# Text that YAML readers take for itself without quotes.
_PLAIN = re.compile(
    r"[A-Za-z0-9_./][A-Za-z0-9_./@%+=,$-]*(?:[ :][A-Za-z0-9_./@%+=,$-]+)*", re.ASCII
)
_NO_TEXT = re.compile(
    r"(?i)null|true|false|yes|no|on|off|y|n|\.nan|\.inf|[-+.0-9][-+.0-9_:xobea-f]*(?:[tz ].*)?"
)


class Row(NamedTuple):
    """A line; `is_leaf` when it shows a value and not only where values are."""

    text: str
    owners: Owners
    is_leaf: bool
    mark: str


def rows_of(tree: Field, wanted: Wanted | None = None) -> Iterator[Row]:
    """Lines of all fields, or of those that are wanted and what they stand in."""
    for child in tree.children:
        yield from _rows(child, "", "", "", wanted)


def has_any(field: Field, wanted: Wanted) -> bool:
    return wanted(field) or any(has_any(child, wanted) for child in field.children)


def _rows(field: Field, first: str, rest: str, mark: str, wanted: Wanted | None) -> Iterator[Row]:
    """`first` stands in front of the first line and `rest` in front of the others."""
    if wanted is not None and not has_any(field, wanted):
        return
    mark = mark or field.mark
    label = f"{scalar(field.step[2:])}:" if field.step[:2] == "f:" else ""
    if field.is_leaf:
        text = f"{label} {scalar(field.value)}" if label else scalar(field.value)
        yield Row(first + text, field.owners, True, mark)
        return
    if label:
        yield Row(first + label, field.owners, False, mark)
    elif field.owners and field.owners != field.children[0].owners:
        yield Row(first.rstrip(), field.owners, False, mark)
        first = rest
    is_list = isinstance(field.value, list)
    inner = rest + "  " if label and not is_list else rest
    if label:
        first = inner
    for child in field.children:
        if is_list:
            yield from _rows(child, first + "- ", inner + "  ", mark, wanted)
        else:
            yield from _rows(child, first, inner, mark, wanted)
        first = inner


def scalar(value: Any) -> str:
    """A value on one line, quoted where it would be read as something else."""
    import json

    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and not _NO_TEXT.fullmatch(value):
            return value
        return printable(json.dumps(value, ensure_ascii=False))
    return json.dumps(value, ensure_ascii=False)
