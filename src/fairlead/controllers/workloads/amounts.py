"""Numbers that may be percentages."""

from __future__ import annotations

from fairlead.resources.apps.shared import amount


def resolved(value: int | str, total: int, *, up: bool) -> int:
    """The absolute number for an integer or a percentage of `total`; `up` rounds up."""
    if isinstance(value, int):
        return value
    hundredths = amount(value) * total
    return -(-hundredths // 100) if up else hundredths // 100
