"""Numbers that may be percentages of another number."""

from __future__ import annotations

from fairlead.resources.apps.shared import amount


def resolved(value: int | str, total: int, *, up: bool) -> int:
    """What a number or a percentage of a total comes to, in whole pods."""
    if isinstance(value, int):
        return value
    hundredths = amount(value) * total
    return -(-hundredths // 100) if up else hundredths // 100
