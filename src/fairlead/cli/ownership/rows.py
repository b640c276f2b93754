"""Formats a tree of fields as lines that look like YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from fairlead.base.terminal import printable
from fairlead.cli.ownership.fields import Field, Owners

FieldFilter = Callable[[Field], bool]

# Text that needs no quotes in YAML.
_PLAIN = re.compile(
    r"[A-Za-z0-9_./][A-Za-z0-9_./@%+=,$-]*(?:[ :][A-Za-z0-9_./@%+=,$-]+)*", re.ASCII
)
_NO_TEXT = re.compile(
    r"(?i)null|true|false|yes|no|on|off|y|n|\.nan|\.inf|[-+.0-9][-+.0-9_:xobea-f]*(?:[tz ].*)?"
)


class Row(NamedTuple):
    """A line; `is_leaf` if it shows a value, not only a container."""

    text: str
    owners: Owners
    is_leaf: bool
    mark: str


def rows_of(tree: Field, selects: FieldFilter | None = None) -> Iterator[Row]:
    """Lines of all fields, or of the wanted fields and their parents."""
    for child in _visible(tree, selects):
        yield from _rows(child, "", "", "", selects)


def _visible(field: Field, selects: FieldFilter | None) -> Sequence[Field]:
    if selects is None:
        return field.children
    return [child for child in field.children if _has_any(child, selects)]


def _has_any(field: Field, selects: FieldFilter) -> bool:
    return selects(field) or any(_has_any(child, selects) for child in field.children)


def _rows(
    field: Field, first: str, rest: str, mark: str, selects: FieldFilter | None
) -> Iterator[Row]:
    """`first` is the prefix of the first line, `rest` of all others."""
    mark = mark or field.mark
    label = f"{scalar(field.step[2:])}:" if field.step[:2] == "f:" else ""
    if field.is_leaf:
        text = f"{label} {scalar(field.value)}" if label else scalar(field.value)
        yield Row(first + text, field.owners, True, mark)
        return
    children = _visible(field, selects)
    is_list = isinstance(field.value, list)
    inner = rest + "  " if label and not is_list else rest
    if label or _has_own_row(field, children):
        yield Row(first + label if label else first.rstrip(), field.owners, False, mark)
        first = inner
    for child in children:
        if is_list:
            yield from _rows(child, first + "- ", inner + "  ", mark, selects)
        else:
            yield from _rows(child, first, inner, mark, selects)
        first = inner


def _has_own_row(item: Field, children: Sequence[Field]) -> bool:
    """Whether the dash of a list item gets its own line, because mark or owners of the first field
    differ from those of the item."""
    if not children or (children[0].mark and not item.mark):
        return True
    return bool(item.owners) and item.owners != children[0].owners


def scalar(value: Any) -> str:
    """A value on one line, quoted if YAML would parse it as another type."""
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and not _NO_TEXT.fullmatch(value):
            return value
        return printable(json.dumps(value, ensure_ascii=False))
    return json.dumps(value, ensure_ascii=False)
