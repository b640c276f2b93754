"""Formats quantities and resource lists."""

from __future__ import annotations

from decimal import Decimal

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.page import Page
from fairlead.codec.types.quantity import Amount, QuantityError, amount, canonical

NOTHING = Amount(Decimal(0))


def quantity_text(value: Fields) -> str:
    """The quantity in canonical form; 0 if there is none."""
    text = value.text()
    try:
        return canonical(text) if text else "0"
    except QuantityError:
        return text


def amount_of(value: Fields) -> Amount:
    """The quantity as a number; 0 if it cannot be parsed."""
    try:
        return amount(value.text() or "0")
    except QuantityError:
        return NOTHING


def draw_resources(page: Page, resources: Fields, level: int) -> None:
    for name, quantity in resources.parts():
        page.pair(name, quantity_text(quantity), level)


def draw_limits_and_requests(page: Page, resources: Fields, level: int) -> None:
    for name, path in (("Limits", "limits"), ("Requests", "requests")):
        if resources.map(path):
            page.write(f"{name}:", level)
            draw_resources(page, resources.part(path), level + 1)
