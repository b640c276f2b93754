"""Widths and colours of the columns of a table on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.cli.invocation import GREEN, RED, YELLOW

# No column becomes narrower: short values and most heads are never cut. By rank, see `_ranks`.
_MIN = (10, 10, 16)
_ELLIPSIS = "…"
# Columns that stay whole. Messages, which come last, may take several lines.
_WHOLE = frozenset(("NAME", "POD", "OBJECT", "EVENT", "CURRENT", "TOKEN", "REVISION", "MESSAGE"))
_NUMBERS = frozenset(("CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"))
_MESSAGE = "MESSAGE"
# What is narrowed last. Labels and columns that are not named in this module are narrowed before.
_IMPORTANT = frozenset(
    (
        *("NAMESPACE", "READY", "STATUS", "AGE", "TYPE", "REASON", "RESTARTS", "KIND"),
        *("LAST SEEN", "MANAGER", "Resources", "Verbs"),
    )
)
_LABELS = "LABELS"


def fit(sizes: Sequence[int], heads: Sequence[str], gap: int, width: int) -> list[int]:
    """The number of letters that each column may have, such that a line takes no more than `width`
    columns of the terminal, if that is possible."""
    limits = list(sizes)
    counted = [size for size, head in zip(sizes, heads, strict=False) if head != _MESSAGE]
    excess = sum(counted) + gap * (len(heads) - 1) - width
    for rank, least in zip(_ranks(heads), _MIN, strict=True):
        while rank and excess > 0:
            widest = max(rank, key=limits.__getitem__)
            if limits[widest] <= least:
                break
            limits[widest] -= 1
            excess -= 1
    return limits


def _ranks(heads: Sequence[str]) -> tuple[list[int], ...]:
    """The indexes of the columns that may be narrowed, the least important ones first."""
    ranks: tuple[list[int], ...] = ([], [], [])
    for index, head in enumerate(heads):
        if head not in _WHOLE and head not in _NUMBERS:
            ranks[0 if head == _LABELS else 2 if head in _IMPORTANT else 1].append(index)
    return ranks


def fitted(
    rows: Sequence[Sequence[str]], heads: Sequence[str], gap: int, width: int
) -> Sequence[Sequence[str]]:
    """The rows with cells cut such that they fit; all of them if there is no width."""
    if not width:
        return rows
    sizes = [max(map(len, cells)) for cells in zip(heads, *rows, strict=True)]
    limits = fit(sizes, heads, gap, width)
    return [[cut(cell, limit) for cell, limit in zip(row, limits, strict=True)] for row in rows]


def cut(text: str, limit: int) -> str:
    """The text in at most so many letters, with an ellipsis if some are left out."""
    return text if len(text) <= limit else text[: limit - 1] + _ELLIPSIS


# States and their colours.

GOOD = ("Running", "Active", "Bound", "Ready", "Completed", "Succeeded", "Complete", "Available")
WAITING = ("Pending", "ContainerCreating", "PodInitializing", "Terminating", "Suspended")
_ALSO_GOOD = ("Approved", "Issued", "True")
_ALSO_WAITING = ("Released", "SchedulingDisabled", "Unknown", "Warning", "NotInstalled")
_BAD = ("NotReady", "OOMKilled", "Evicted", "Lost", "Denied", "False", "DeadlineExceeded")
_BAD_BEGINNINGS = ("Err", "Invalid", "ExitCode:", "Signal:", "Failed", "False (")
_BAD_ENDS = ("BackOff", "Error", "Failed", "NeverPull")
_INIT = "Init:"
_STATES = frozenset(("STATUS", "STATE", "PHASE", "TYPE", "AVAILABLE", "ESTABLISHED", "READY"))
_SEVERE = (RED, YELLOW, GREEN)


def colour(head: str, text: str, heads: Sequence[str]) -> str:
    """The colour of a cell, empty for none."""
    if head not in _STATES:
        return ""
    if head == "READY" and "/" in text:
        return YELLOW if "STATUS" not in heads and _is_short(text) else ""
    colours = {_state_colour(word) for word in text.split(",")}
    return next((severe for severe in _SEVERE if severe in colours), "")


def _is_short(text: str) -> bool:
    """Whether fewer are ready than wanted, as in 1/3."""
    ready, _, wanted = text.partition("/")
    return ready.isdecimal() and wanted.isdecimal() and int(ready) < int(wanted)


def _state_colour(word: str) -> str:
    state = word.removeprefix(_INIT)
    if state in _BAD or state.startswith(_BAD_BEGINNINGS) or state.endswith(_BAD_ENDS):
        return RED
    if word.startswith(_INIT) or word in WAITING or word in _ALSO_WAITING:
        return YELLOW
    return GREEN if word in GOOD or word in _ALSO_GOOD else ""
