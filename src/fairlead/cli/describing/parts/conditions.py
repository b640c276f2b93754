"""Conditions of a status as a table."""

from __future__ import annotations

from fairlead.cli.describing.fields import Fields
from fairlead.cli.describing.page import Page
from fairlead.cli.describing.parts.times import in_full

# The column's name and field; a time where the name says so.
_TYPE, _STATUS, _REASON, _MESSAGE = "type", "status", "reason", "message"


def draw_conditions(page: Page, value: Fields) -> None:
    """Type, status and reason."""
    conditions = value.items("status.conditions")
    if conditions:
        page.write("Conditions:")
        rows = ((f"{one.text(_TYPE)} ", one.text(_STATUS), one.text(_REASON)) for one in conditions)
        page.table(("Type", "Status", "Reason"), rows)


def draw_conditions_with_message(page: Page, value: Fields) -> None:
    conditions = value.items("status.conditions")
    if conditions:
        page.write("Conditions:")
        names = (_TYPE, _STATUS, _REASON, _MESSAGE)
        rows = ([one.text(name) for name in names] for one in conditions)
        page.table(("Type", "Status", "Reason", "Message"), rows)


def draw_conditions_with_times(page: Page, value: Fields, probed: str) -> None:
    """Everything that is known of them; `probed` names the time of the last look."""
    conditions = value.items("status.conditions")
    if not conditions:
        return
    page.write("Conditions:")
    head = ("Type", "Status", probed, "LastTransitionTime", "Reason", "Message")
    rules = ("----", "------", "-----------------", "------------------", "------", "-------")
    page.table(head, (_with_times(one, probed) for one in conditions), rules=rules)


def _with_times(condition: Fields, probed: str) -> tuple[str, ...]:
    return (
        f"{condition.text(_TYPE)} ",
        f"{condition.text(_STATUS)} ",
        f"{in_full(condition.at(probed[0].lower() + probed[1:]))} ",
        f"{in_full(condition.at('lastTransitionTime'))} ",
        f"{condition.text(_REASON)} ",
        condition.text(_MESSAGE),
    )
