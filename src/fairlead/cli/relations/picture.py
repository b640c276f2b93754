"""Draws trees of objects as lines, or as JSON documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from fairlead.base.terminal import printable
from fairlead.cli.invocation import DIM, RED, YELLOW, Paint, Screen
from fairlead.cli.output import tables
from fairlead.cli.output.fitting import GOOD, WAITING, fitted
from fairlead.cli.relations.states import UNKNOWN, State
from fairlead.cli.relations.trees import Branch, branches
from fairlead.codec.types.times import since

States = Mapping[str, State]
_HEAD = ("NAME", "READY", "STATUS", "AGE")


def drawn(root: Branch, states: States, screen: Screen) -> str:
    """The tree as lines. Names include the namespace if the root is cluster-scoped."""
    spaces = not root.item.namespace
    drawn_branches = list(branches(root))
    cells = [_cells(lead, branch, states, spaces) for lead, branch in drawn_branches]
    rows = fitted([_HEAD, *cells], _HEAD, tables.GAP, screen.width)
    width = tables.widths(rows)
    paint = Paint(screen)
    lines = [
        paint(tables.line(row, width), *_colour(branch, states))
        for row, (_, branch) in zip(rows[1:], drawn_branches, strict=True)
    ]
    return "\n".join((tables.line(rows[0], width), *lines))


def _cells(lead: str, branch: Branch, states: States, spaces: bool) -> tuple[str, ...]:
    item, state = branch.item, states.get(branch.item.uid, UNKNOWN)
    prefix = f"{item.namespace}/" if spaces and item.namespace else ""
    name = f"{lead}{item.type.kind}/{prefix}{item.name}"
    if item.is_missing:
        return _cell(name), "", _joined("(missing)", branch.note), ""
    status = "Terminating" if item.is_deleting and not state.status else state.status
    notes = _joined(status, *state.trouble, branch.note, "(shown elsewhere)" * branch.is_repeated)
    age = since(item.created, datetime.now(UTC)) if item.created else ""
    return _cell(name), _cell(state.ready), notes, age


def _joined(*words: str) -> str:
    return _cell(", ".join(word for word in words if word))


def _cell(text: str) -> str:
    return printable(text).replace("\n", " ")


def _colour(branch: Branch, states: States) -> Iterator[str]:
    state = states.get(branch.item.uid, UNKNOWN)
    if branch.is_repeated:
        yield DIM
    elif branch.item.is_missing or (state.status and state.status not in (*GOOD, *WAITING)):
        yield RED
    elif state.trouble or branch.item.is_deleting or state.status in WAITING:
        yield YELLOW


def document(root: Branch, states: States, name: str) -> dict[str, Any]:
    """The tree as nested objects; children are in the field `name`."""
    item, state = root.item, states.get(root.item.uid, UNKNOWN)
    fields: dict[str, Any] = {
        "apiVersion": item.type.api_version,
        "kind": item.type.kind,
        "name": item.name,
        "namespace": item.namespace or None,
        "uid": item.uid,
        "creationTimestamp": item.created or None,
        "ready": state.ready or None,
        "status": state.status or None,
        "trouble": list(state.trouble),
    }
    for key, is_set in (("missing", item.is_missing), ("repeated", root.is_repeated)):
        if is_set:
            fields[key] = True
    if root.note:
        fields["note"] = root.note
    return {**fields, name: [document(child, states, name) for child in root.below]}
