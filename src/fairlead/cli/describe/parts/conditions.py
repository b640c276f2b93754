"""Draws the conditions of a status as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.times import in_full

# Rules under a head that are not as long as the column name.
_RULES = {"LastProbeTime": "-----------------"}


def draw_conditions(page: Page, value: Fields) -> None:
    """Draw type, status and reason."""
    _draw(page, value, ("Type", "Status", "Reason"), lambda cells: [f"{cells[0]} ", *cells[1:]])


def draw_conditions_with_message(page: Page, value: Fields) -> None:
    _draw(page, value, ("Type", "Status", "Reason", "Message"))


def draw_conditions_with_time(page: Page, value: Fields) -> None:
    """Draw type, status, transition time, reason and message."""
    _draw(page, value, ("Type", "Status", "LastTransitionTime", "Reason", "Message"))


def draw_conditions_with_times(page: Page, value: Fields, probed: str) -> None:
    """Draw all fields; `probed` is the column of the last probe time."""
    head = ("Type", "Status", probed, "LastTransitionTime", "Reason", "Message")
    _draw(page, value, head, lambda cells: [*(f"{cell} " for cell in cells[:-1]), cells[-1]])


def _draw(
    page: Page,
    value: Fields,
    head: Sequence[str],
    spaced: Callable[[list[str]], list[str]] = lambda cells: cells,
) -> None:
    """Draw a table if there are conditions. `spaced` appends the trailing blanks that some layouts
    have."""
    conditions = value.items("status.conditions")
    if conditions:
        page.write("Conditions:")
        rows = (spaced([_cell(one, name) for name in head]) for one in conditions)
        page.table(head, rows, rules=[_RULES.get(name, "-" * len(name)) for name in head])


def _cell(condition: Fields, name: str) -> str:
    path = name[0].lower() + name[1:]
    return in_full(condition.at(path)) if name.endswith("Time") else condition.text(path)
